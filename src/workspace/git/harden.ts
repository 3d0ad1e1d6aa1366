import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { readRegularFileNow, readTextIfAny } from '../../base/files.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { runShort } from '../../base/process/run-short.ts'
import { pathOutsideProjects } from '../../base/search-path.ts'
import { findGitFolder, type GitFolder, mainCheckouts } from './git-folder.ts'
import { isReader } from './git-folder-links.ts'

/** How git is started. Disposed of when it has ended. */
export interface HardenedCall extends AsyncDisposable {
  command: string
  /** The arguments of each command. */
  args: string[][]
  env: Record<string, string>
}

/**
 * Disables everything that a repository's settings could start during a call: hooks, the file watcher, pagers and editors,
 * signatures, maintenance, filters, merge drivers, external diff programs. The settings of the person and of the machine are not
 * read either. `folder` is the repository of the directory. Throws where its settings cannot be read: nobody knows which programs they
 * name.
 */
export async function hardenCall(
  folder: GitFolder | undefined,
  commands: Commands,
  trusted: readonly string[] = [],
): Promise<HardenedCall> {
  return hardenWith(folder, commands, [
    ...SAFE_SETTINGS,
    ...trusted.map((path): [string, string] => ['safe.directory', path]),
  ])
}

/** The directories that the person trusts although somebody else owns them. */
export async function readTrustedDirectories(): Promise<string[]> {
  const { stdout } = await readPersonalConfig('/', ['config', '-z', '--get-all', 'safe.directory'])
  return stdout.split('\0').filter(path => path !== '')
}

type Settings = [key: string, value: string][]
/** Commands that are run one after the other, each with its arguments. */
type Commands = readonly (readonly string[])[]

const SAFE_SETTINGS: Settings = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  // With other values of these, a changed file could pass for an unchanged one.
  ['core.ignoreStat', 'false'],
  ['core.trustctime', 'true'],
  ['core.checkStat', 'default'],
  ['core.untrackedCache', 'false'],
  ['core.splitIndex', 'false'],
  // An agent can write the file in which git looks up trees and parents of commits without reading them.
  ['core.commitGraph', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.sshCommand', 'false'],
  ['core.askPass', 'false'],
  ['core.alternateRefsCommand', 'false'],
  ['credential.helper', ''],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['push.gpgSign', 'false'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['log.showSignature', 'false'],
  ['merge.verifySignatures', 'false'],
  // Maintenance would run in the background, in a repository that is being checked.
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // Packs that are hashed before a merge are one.
  ['pack.packSizeLimit', '0'],
  // A call does only what its arguments say.
  ['submodule.recurse', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['fetch.recurseSubmodules', 'no'],
  ['diff.submodule', 'short'],
  ['status.submoduleSummary', 'false'],
  ['merge.autoStash', 'false'],
  ['rebase.autoStash', 'false'],
  ['rebase.autoSquash', 'false'],
  ['rebase.updateRefs', 'false'],
  ['rebase.rebaseMerges', 'false'],
  ['rerere.enabled', 'false'],
  ['merge.stat', 'false'],
  ['color.ui', 'false'],
  ['core.quotePath', 'false'],
  ['advice.detachedHead', 'false'],
]

/** Commands that show differences, and start an external program for that unless they are told not to. */
const SHOWS_DIFFERENCES = new Set(['diff', 'log', 'show', 'diff-tree', 'diff-index', 'diff-files', 'format-patch'])
/** Commands that look into submodules, where they would obey the submodule's own settings, unless they are told not to. */
const LOOKS_INTO_SUBMODULES = new Set(['diff', 'status', 'diff-index', 'diff-files'])
/** Commands that read neither the contents of files nor differences. */
const ONLY_NAMES = new Set([
  'rev-parse',
  'rev-list',
  'config',
  'for-each-ref',
  'show-ref',
  'symbolic-ref',
  'update-ref',
])

async function hardenWith(
  folder: GitFolder | undefined,
  commands: Commands,
  settings: Settings,
): Promise<HardenedCall> {
  const isBare = folder !== undefined && folder.own === folder.top
  // Git would take a directory with HEAD, objects and refs for a repository, whoever put them there. Versions before 2.38 always do.
  const base: Settings = [...settings, ['safe.bareRepository', isBare ? 'all' : 'explicit']]
  if (commands.every(args => ONLY_NAMES.has(args[0] ?? '') && isReader(args)))
    return startWith(commands, folder, [...base, ['core.excludesFile', '/dev/null']])
  const all: Settings = [...base, ['core.excludesFile', await personalIgnoreFile()]]
  const others = await Promise.all(commands.map(otherWorktrees))
  const folders = [folder, ...others.flat()].filter(each => each !== undefined)
  for (const each of folders) all.push(...(await overrideRepositoryPrograms(each, all)))
  return startWith(commands, folder, all)
}

/** Git looks into a worktree before it removes it, and obeys that worktree's own settings. */
function otherWorktrees([command, ...rest]: readonly string[]): Promise<(GitFolder | undefined)[]> {
  const paths = command === 'worktree' ? rest.filter(isAbsolute) : []
  return Promise.all(paths.map(path => findGitFolder(path)))
}

async function startWith(commands: Commands, folder: GitFolder | undefined, settings: Settings): Promise<HardenedCall> {
  const { PATH, program } = findGit(folder)
  const env = { ...withSettings(folder, settings), PATH }
  const call = { command: program, args: commands.map(withFlags), env }
  if (commands.every(args => isReader(args) || ONLY_NAMES.has(args[0] ?? '') || NEEDS_ALL_OF_GIT.has(args[0] ?? '')))
    return { ...call, [Symbol.asyncDispose]: async () => undefined }
  const quiet = makeQuietGit(program)
  return {
    ...{ ...call, env: { ...env, PATH: `${quiet}:${PATH}`, GIT_EXEC_PATH: quiet } },
    [Symbol.asyncDispose]: async () => rmSync(quiet, { recursive: true, force: true }),
  }
}

/**
 * Commands that look into no submodule and need what git starts for them: `worktree` removes nothing that has submodules and asks
 * `git status` for changes, `push` has its own programs for each protocol.
 */
const NEEDS_ALL_OF_GIT = new Set(['worktree', 'push', 'remote'])

/**
 * A folder with the git that git itself starts. Commands that write ask every submodule by `git status` whether it is changed, and no
 * option stops that; it would obey the submodule's own settings, and an agent can make a submodule. Here the answer is always that
 * nothing is changed. What such a git starts finds this folder, too.
 */
function makeQuietGit(program: string): string {
  const real = `'${program.replaceAll("'", "'\\''")}'`
  for (const parent of [tmpdir(), homedir()]) {
    const folder = mkdtempSync(join(parent, '.pcc-git-'))
    const file = join(folder, 'git')
    const script = `for arg; do case "$arg" in -*) ;; status) exit 0;; *) break;; esac; done; exec ${real} "$@"`
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o700, flag: 'wx' })
    if (findProgram(file, {}) !== undefined) return folder
    rmSync(folder, { recursive: true })
  }
  throw new Error(`programs can be started neither in ${tmpdir()} nor in ${homedir()}. Name another folder in TMPDIR.`)
}

function findGit(folder: GitFolder | undefined): { PATH: string; program: string } {
  const PATH = pathOutsideProjects(process.env['PATH'], folder ? [folder.top, ...mainCheckouts(folder)] : [])
  return { PATH, program: findProgram('git', { PATH }) ?? 'git' }
}

function withFlags([command = '', ...rest]: readonly string[]): string[] {
  const flags = [
    ...(SHOWS_DIFFERENCES.has(command) ? ['--no-ext-diff', '--no-textconv'] : []),
    ...(LOOKS_INTO_SUBMODULES.has(command) ? ['--ignore-submodules=dirty'] : []),
  ]
  return ['--no-pager', ...(command === 'check-ignore' ? [] : ['--literal-pathspecs']), command, ...flags, ...rest]
}

function withSettings(folder: GitFolder | undefined, settings: Settings): Record<string, string> {
  return {
    // A repository's settings may include a file by `~`, and git fails where that cannot be resolved.
    HOME: homedir(),
    LC_ALL: 'C',
    // The repository is the one that was looked at: git does not search above it, whatever an agent changes meanwhile.
    ...(folder && { GIT_CEILING_DIRECTORIES: dirname(folder.top) }),
    GIT_OPTIONAL_LOCKS: '0',
    // Versions before 2.44 do not know this one.
    GIT_NO_LAZY_FETCH: '1',
    // Replace refs and the graft file let an object or a parent pass for another one.
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    GIT_SEQUENCE_EDITOR: 'true',
    GIT_MERGE_AUTOEDIT: 'no',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

/** Hardly any repository names programs: reading its files saves asking git, which takes as long as most calls. */
async function overrideRepositoryPrograms(folder: GitFolder, settings: Settings): Promise<Settings> {
  return NAMES_PROGRAMS.test(await readRepositorySettings(folder)) ? overridePrograms(folder, settings) : []
}

/** The text of a repository's settings, without that of files that they include. Throws for a pipe. */
export async function readRepositorySettings({ common, own }: GitFolder): Promise<string> {
  const files = new Set([common, own].flatMap(path => [join(path, 'config'), join(path, 'config.worktree')]))
  return (await Promise.all([...files].map(readSettings))).join('\n')
}

/** A file that cannot be read now may be read by git a moment later: then git is asked what it reads. */
async function readSettings(file: string): Promise<string> {
  try {
    return (await readTextIfAny(file)) ?? ''
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === undefined) throw thrown // a pipe: git would wait for it
    return '[include]'
  }
}

const NAMES_PROGRAMS = /\[\s*(include|filter|merge|diff|hook)/i

/** Settings that override the programs that a repository names, in any of its files. */
async function overridePrograms(folder: GitFolder, settings: Settings): Promise<Settings> {
  await using call = await startWith([['config', '--name-only', '-z', '--list']], folder, settings)
  const { command, env } = call
  const [args = []] = call.args
  const limits = { timeoutMs: 10_000, maxBytes: 8_000_000 }
  const listed = await runShort({ command, args, cwd: folder.top, env, ...limits })
  if (listed.code !== 0)
    throw new Error(listed.stderr.trim() || `the settings of the repository cannot be read: ${listed.why}`)
  return [...new Set(listed.stdout.split('\0'))].flatMap((name): Settings => {
    if (/^filter\..*\.(clean|smudge|process)$/is.test(name)) return [[name, '']]
    if (/^filter\..*\.required$/is.test(name)) return [[name, 'false']]
    if (/^merge\..*\.driver$/is.test(name)) return [[name, PLAIN_MERGE]]
    // Since version 2.54 git also runs hooks that settings name, wherever the folder of hooks is.
    const [, hook] = /^hook\.(.*)\.(?:command|event|enabled)$/is.exec(name) ?? []
    return hook === undefined
      ? []
      : [
          [`hook.${hook}.enabled`, 'false'],
          [`hook.${hook}.command`, 'false'],
        ]
  })
}

/** An empty driver would silently take our side; this is what git does with every other text file. */
const PLAIN_MERGE = 'git merge-file --marker-size=%L %A %O %B'

/** Reads settings including the person's own; only for `git config`, which starts no program. */
async function readPersonalConfig(
  directory: string,
  args: readonly ['config', ...string[]],
): Promise<{ stdout: string }> {
  const env: Record<string, string> = Object.fromEntries(
    PASSED_VARIABLES.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])),
  )
  const limits = { timeoutMs: 10_000, maxBytes: 1_000_000 }
  const { PATH, program } = findGit(await findGitFolder(directory))
  const run = { command: program, args: ['--no-pager', ...args], cwd: directory, env: { ...env, PATH, LC_ALL: 'C' } }
  const { code, stdout } = await runShort({ ...run, ...limits })
  return { stdout: code === 0 ? stdout : '' }
}

const PASSED_VARIABLES = ['HOME', 'XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_NOSYSTEM', 'GIT_CONFIG_SYSTEM']

/**
 * The person's own list of files that git ignores everywhere (`.DS_Store`, `.idea`), and not one that the repository names: an
 * agent could hide its work with that. Git is only asked for it where the person's settings may name one.
 */
async function personalIgnoreFile(): Promise<string> {
  const own = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config')
  const files = [process.env['GIT_CONFIG_GLOBAL'] || join(homedir(), '.gitconfig'), join(own, 'git', 'config')]
  const texts = files.map(file => readRegularFileNow(file)?.toString('latin1') ?? '')
  const usual = join(own, 'git', 'ignore')
  if (!texts.some(text => /excludesfile|\[\s*include/i.test(text))) return usual
  const { stdout } = await readPersonalConfig('/', ['config', '--type=path', '--get', 'core.excludesFile'])
  return stdout.trimEnd() || usual
}

/** The committer where neither the repository nor the person's settings name one. */
const FALLBACK = { name: 'PerpetualCC', email: 'pcc@localhost' }

/** Variables that name the committer: the person, by their settings and those of the repository. */
export async function committerEnv(directory: string): Promise<Record<string, string>> {
  const { stdout } = await readPersonalConfig(directory, ['config', '-z', '--get-regexp', '^user[.](name|email)$'])
  // Later lines come from nearer files, and override earlier ones.
  const user = new Map(stdout.split('\0').map(line => splitAt(line, line.indexOf('\n'))))
  const name = user.get('user.name') || FALLBACK.name
  const email = user.get('user.email') || FALLBACK.email
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email }
}

function splitAt(line: string, at: number): [string, string] {
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}
