import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { appPathsFor, ownFolders } from '../../base/app-paths.ts'
import { readTextIfAny } from '../../base/files.ts'
import { isInside } from '../../base/is-inside.ts'
import { lookUpEntry, realPathIfAny } from '../../base/is-there.ts'
import { COVERED, lookForBubblewrap } from '../../base/sandbox/bubblewrap.ts'
import type { GitFolder } from './git-folder.ts'
import { isReader } from './git-folder-links.ts'

interface FencedCall {
  directory: string
  command: string
  args: readonly string[]
  /** The git that runs. */
  program: string
  /** Which commands of git it runs, each with its own arguments. */
  asked: readonly (readonly string[])[]
  env: Record<string, string>
}

/** Commands that need the person's keys and the network. */
const NOT_FENCED = new Set(['push', 'remote'])

/** Commands that put the content of files into the repository. */
const READS_FILES = new Set(['add', 'update-index', 'hash-object', 'rm', 'commit', 'stash'])

function needsFence(asked: readonly string[], hasIndexAside: boolean): boolean {
  const [name = ''] = asked
  if (isReader(asked) || NOT_FENCED.has(name)) return false
  // With an index aside these write there, read no file, and nothing else.
  const isOfIndex = name === 'read-tree' || (name === 'update-index' && asked.includes('--index-info'))
  return !hasIndexAside || asked.includes('-u') || !isOfIndex
}

/** Whether the call has an index of ours where no agent can put a link: outside of the checkout and of git's folders. */
function isIndexAside({ top, own, common }: GitFolder, index: string | undefined): boolean {
  if (index === undefined || !isAbsolute(index)) return false
  const [at = '', ...folders] = [dirname(index), top, own, common].map(realOrSame)
  return !folders.some(folder => isInside(at, folder))
}

function realOrSame(path: string): string {
  return realPathIfAny(path) ?? path
}

/**
 * Lets a git that writes do so in its repository only. Git follows links, and an agent at work elsewhere in the repository can put one among
 * refs and their logs in the moment after we have looked for them (git-folder-links.ts): a log of commits would be appended to any file
 * of the person. So everything outside the repository is read-only for git, and so are the files in it that can make git run a program. Files
 * and objects are read through links as well, so git does not see what is hidden from agents: an agent would find a key of the person among the
 * objects, or another project's files in its worktree. Where there is no bubblewrap, only the look is left.
 */
export async function fenceCall(
  folder: GitFolder | undefined,
  call: FencedCall,
): Promise<Pick<FencedCall, 'command' | 'args'>> {
  const { command, args, asked, directory, env } = call
  if (process.platform !== 'linux' || !folder) return { command, args }
  const isAside = isIndexAside(folder, env['GIT_INDEX_FILE'])
  if (!asked.some(each => needsFence(each, isAside))) return { command, args }
  // Who is root has rights over files of others, and would lose them.
  const { uid } = statSync(folder.common)
  const bubblewrap = uid === process.getuid?.() ? await lookForBubblewrap({ PATH: env['PATH'] }) : undefined
  if (!bubblewrap || !('program' in bubblewrap)) return { command, args }
  const config = join(folder.common, 'config')
  const written = [
    ...[folder.common, folder.own, folder.top],
    // Tools that share a repository by links link its settings, too.
    dirname(realOrSame(config)),
    ...[...asked.flat(), env['GIT_INDEX_FILE'] ?? ''].flatMap(foldersIn),
  ]
  // A worktree whose folder is gone is removed from git's list all the same.
  const real = written.map(realOrSame).filter(path => lookUpEntry(path))
  // A mounted folder cannot be removed, so a worktree in a writable folder is not mounted itself.
  const writable = [...new Set(real)].filter(path => !real.some(other => other !== path && isInside(path, other)))
  const names = asked.map(([name = '']) => name)
  const kept = names.includes('sparse-checkout') ? [] : plainEntries(folder.common)
  // What looks for worktrees has to see them: git forgets one that is not there.
  const seesAll = asked.some(([name, verb]) => name === 'worktree' && verb !== 'add')
  const sight = () => hideFiles(folder, call, { borrows: names.some(name => READS_FILES.has(name)) })
  const { hidden, shown } = seesAll ? NOTHING : await sight()
  return {
    command: bubblewrap.program,
    args: [
      ...[
        '--unshare-user',
        '--disable-userns',
        '--cap-drop',
        'ALL',
        '--ro-bind',
        '/',
        '/',
        '--dev-bind',
        '/dev',
        '/dev',
      ],
      ...hidden.flatMap(path => ['--tmpfs', path]),
      ...shown.flatMap(path => ['--ro-bind', path, path]),
      ...writable.flatMap(path => ['--bind', path, path]),
      ...kept.flatMap(path => ['--ro-bind', path, path]),
      ...['--chdir', directory, '--', command, ...args],
    ],
  }
}

interface Sight {
  hidden: string[]
  /** What of it git needs all the same. */
  shown: string[]
}

const NOTHING: Sight = { hidden: [], shown: [] }

/** What sandboxes of agents hide too, without what git itself needs. A git that is in there sees all of it. */
async function hideFiles(
  { common }: GitFolder,
  { program: given, env }: FencedCall,
  { borrows }: { borrows: boolean },
): Promise<Sight> {
  const folders = [homedir(), ...ownFolders(appPathsFor({ env: process.env })), ...COVERED]
  const hidden = realPaths(folders.filter(path => path !== '/'))
  const isHidden = (path: string) => hidden.some(folder => isInside(path, folder))
  const ignored = Object.entries(env).find(([, value]) => value === 'core.excludesFile')?.[0]
  const named = [
    env['GIT_EXEC_PATH'],
    env[ignored?.replace('KEY', 'VALUE') ?? ''],
    // Objects that pcc has hashed and set aside.
    env['GIT_OBJECT_DIRECTORY'],
  ].flatMap(path => path ?? [])
  // Objects that the repository borrows from another one.
  const borrowed = borrows && (await readTextIfAny(join(common, 'objects/info/alternates')).catch(() => ''))
  const lenders = (borrowed || '').split('\n').filter(line => isAbsolute(line))
  const [program = given] = realPaths([given])
  if (isHidden(program)) return NOTHING
  return { hidden, shown: realPaths([...named, ...lenders]).filter(isHidden) }
}

function realPaths(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap(path => realPathIfAny(path) ?? []))].sort()
}

/** The folder of a path in an argument (`--prefix=/tmp/x/`): the path itself may be made or removed. */
function foldersIn(arg: string): string[] {
  const path = arg.replace(/^--[a-z-]+=/, '')
  return isAbsolute(path) ? [dirname(path)] : []
}

/** What makes git run something: a link in its place leads elsewhere, where it is read-only anyway. */
function plainEntries(common: string): string[] {
  const paths = ['config', 'config.worktree', 'hooks'].map(name => join(common, name))
  return paths.filter(path => {
    const stats = lookUpEntry(path)
    return stats?.isFile() || stats?.isDirectory()
  })
}
