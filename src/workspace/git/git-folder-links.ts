import { constants, type Dirent } from 'node:fs'
import { lstat, open, readdir, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { GitFolder } from './git-folder.ts'

/**
 * Why git must not write in a checkout; undefined if it may. Git writes through links: a linked `COMMIT_EDITMSG` overwrites the
 * file that it leads to, a linked `logs/HEAD` is appended to. An agent can put them there, and the daemon's git reaches further than
 * the agent.
 */
export async function whyGitMustNotWrite(
  folder: GitFolder | undefined,
  { args, input = '' }: { args: readonly string[]; input?: string | undefined },
): Promise<string | undefined> {
  if (isReader(args)) return undefined
  const found = folder && (await findLink(folder, namedRefs(args, input)))
  return found && `${found} is a link or no ordinary file: git would write through it. Remove it: rm '${found}'`
}

/** Commands that only read, as far as they are called here: they take no optional locks. */
const READERS = new Set(
  'rev-parse rev-list for-each-ref show-ref cat-file log show diff diff-tree diff-index diff-files status ls-files ls-tree merge-base check-ignore check-attr var version'.split(
    ' ',
  ),
)

export function isReader([command = '', ...rest]: readonly string[]): boolean {
  if (command === 'config') return rest.some(arg => /^--(get|list)/.test(arg))
  if (command === 'symbolic-ref') return rest.filter(arg => !arg.startsWith('-')).length < 2
  return READERS.has(command) || (command === 'worktree' && rest[0] === 'list')
}

/** Refs that a call names: in full, or as the branch that it makes or deletes. */
function namedRefs(args: readonly string[], input: string): string[] {
  const branches = args.flatMap((arg, index) => (/^-[bBD]$/.test(args[index - 1] ?? '') ? [`refs/heads/${arg}`] : []))
  const full = args[0] === 'update-ref' ? [...args, ...input.split(/\s/)].filter(arg => arg.startsWith('refs/')) : []
  return [...branches, ...full]
}

async function findLink(folder: GitFolder, refs: readonly string[]): Promise<string | undefined> {
  const { own, common } = folder
  const isLegitimate = await legitimateLinks(common)
  for (const path of own === common ? [] : [dirname(own), own])
    if (!(await lstat(path).catch(() => undefined))?.isDirectory()) return path
  const isWritten = (name: string) => own !== common || WRITTEN_IN_MAIN.test(name)
  const listed = [
    ...(await listOdd(own, '.')).filter(isWritten),
    ...(await Promise.all(OWN_FOLDERS.map(name => listOdd(own, name)))).flat(),
  ].map(path => join(own, path))
  const objects = (await listOdd(common, 'objects')).map(path => join(common, path))
  const head = await readHeadRef(own)
  const paths = [...refs, ...(head === undefined ? [] : [head])].flatMap(ref => [
    ...steps(ref),
    ...steps(`logs/${ref}`),
  ])
  const odd = await Promise.all(
    [...new Set(paths)].map(async path => ((await isOdd(join(common, path))) ? [path] : [])),
  )
  const all = [...listed, ...objects, ...odd.flat().map(path => join(common, path))]
  for (const path of all) if (!(await isLegitimate(path))) return path
  return undefined
}

/** In the main folder of a repository people link `hooks` or `description`; git writes only to these. */
const WRITTEN_IN_MAIN =
  /^([A-Z_]+|index|logs|refs|reftable|objects|packed-refs|worktrees|shallow|rebase-(merge|apply)|sequencer|rr-cache|pcc-.*)$/

/** Folders of one checkout into which git writes files of fixed names. */
const OWN_FOLDERS = [
  'logs',
  'refs',
  'refs/bisect',
  'refs/worktree',
  'refs/rewritten',
  'info',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
]

/** Entries of a folder that are neither files nor folders. */
async function listOdd(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((): Dirent[] => [])
  return entries.filter(entry => !entry.isFile() && !entry.isDirectory()).map(({ name }) => join(folder, name))
}

async function isOdd(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined)
  return stats !== undefined && !stats.isFile() && !stats.isDirectory()
}

/** `refs/heads/a` gives `refs`, `refs/heads` and `refs/heads/a`. */
function steps(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

async function readHeadRef(own: string): Promise<string | undefined> {
  try {
    await using file = await open(join(own, 'HEAD'), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_OF_HEAD), 0, MOST_OF_HEAD, 0)
    return /^ref: (refs\/.+)\n?$/.exec(buffer.toString('utf8', 0, bytesRead))?.[1]
  } catch {
    return undefined // a link, which is refused, or no HEAD
  }
}

const MOST_OF_HEAD = 4_096

/**
 * Links that tools of people make. `git-new-workdir` and `repo` link whole folders to the same names in another repository; they
 * link `config` too, which no agent behind the wall can write. Old versions of git made HEAD a link to a branch.
 */
async function legitimateLinks(common: string): Promise<(path: string) => Promise<boolean>> {
  const config = join(common, 'config')
  const shared = (await isOdd(config)) ? dirname(await realpath(config).catch(() => config)) : undefined
  return async path => {
    if (path === join(common, 'HEAD')) return /^refs\/heads\//.test(await readlink(path).catch(() => ''))
    if (shared === undefined || !path.startsWith(`${common}/`)) return false
    return (await realpath(path).catch(() => '')) === join(shared, path.slice(common.length + 1))
  }
}
