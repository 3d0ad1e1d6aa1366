import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { runShort } from '../../base/process/run-short.ts'
import { findGitFolder } from './git-folder.ts'

export interface HardenedCall {
  args: string[]
  env: Record<string, string>
}

/**
 * The same call with everything out of the way that a repository's settings could start: hooks, the file watcher, pagers and
 * editors, signatures, maintenance, filters, merge drivers, programs that show differences. The settings of the person and of
 * the machine do not count either.
 */
export async function hardenCall(directory: string, args: readonly string[]): Promise<HardenedCall> {
  return withOwnPrograms(directory, args, SAFE_SETTINGS)
}

/** The same call with the directories that the person trusts although another owns them; undefined where there are none. */
export async function hardenCallWithTrusted(
  directory: string,
  args: readonly string[],
): Promise<HardenedCall | undefined> {
  const { stdout } = await readPersonalConfig('/', ['config', '-z', '--get-all', 'safe.directory'])
  const trusted = stdout.split('\0').filter(each => each !== '')
  if (trusted.length === 0) return undefined
  const settings = [...SAFE_SETTINGS, ...trusted.map((path): [string, string] => ['safe.directory', path])]
  return withOwnPrograms(directory, args, settings)
}

type Settings = [key: string, value: string][]

const SAFE_SETTINGS: Settings = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  // By these a file that was changed passes for the one that git knows.
  ['core.ignoreStat', 'false'],
  ['core.trustctime', 'true'],
  ['core.checkStat', 'default'],
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
  // It would go on behind our back, in a repository that somebody may be looking at.
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // What a call does is to be read in the call.
  ['submodule.recurse', 'false'],
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

/** A command that shows differences starts a program for them unless it is told not to. */
const SHOWS_DIFFERENCES = new Set(['diff', 'log', 'show', 'diff-tree', 'diff-index', 'diff-files', 'format-patch'])
/** One that looks into a submodule would do so by its own settings, which nobody has looked at. */
const LOOKS_INTO_SUBMODULES = new Set(['diff', 'status', 'diff-index', 'diff-files'])
/** These ask submodules themselves whether they are changed, and cannot be told not to. */
const ASKS_SUBMODULES = new Set(['add', 'commit', 'stash', 'rm'])
/** These look neither at the contents of files nor at differences. */
const ONLY_NAMES = new Set([
  'rev-parse',
  'rev-list',
  'config',
  'for-each-ref',
  'show-ref',
  'symbolic-ref',
  'update-ref',
])

function withSettings([command = '', ...rest]: readonly string[], settings: Settings): HardenedCall {
  const flags = [
    ...(SHOWS_DIFFERENCES.has(command) ? ['--no-ext-diff', '--no-textconv'] : []),
    ...(LOOKS_INTO_SUBMODULES.has(command) ? ['--ignore-submodules=dirty'] : []),
  ]
  return {
    args: ['--no-pager', ...(command === 'check-ignore' ? [] : ['--literal-pathspecs']), command, ...flags, ...rest],
    env: {
      PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
      // A repository's settings may include a file by `~`, and git refuses to work where that means nothing.
      HOME: homedir(),
      LC_ALL: 'C',
      GIT_OPTIONAL_LOCKS: '0',
      // Versions before 2.44 do not know the first one.
      GIT_NO_LAZY_FETCH: '1',
      // Refs and a file by which one object or another parent passes for what it is not.
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
    },
  }
}

async function withOwnPrograms(directory: string, args: readonly string[], settings: Settings): Promise<HardenedCall> {
  const [command = ''] = args
  if (ONLY_NAMES.has(command)) return withSettings(args, [...settings, ['core.excludesFile', '/dev/null']])
  const whole: Settings = [...settings, ['core.excludesFile', await personalIgnoreFile()]]
  const programs = await overrideRepositoryPrograms(directory, whole)
  if (!ASKS_SUBMODULES.has(command)) return withSettings(args, [...whole, ...programs])
  const inner = await findSubmodules(directory, withSettings([], whole).env)
  const theirs = await Promise.all(inner.map(each => overrideRepositoryPrograms(each, whole)))
  return withSettings(args, [...whole, ...programs, ...theirs.flat()])
}

/** Nearly no repository names programs of its own: a look into its files saves asking git, which takes as long as most calls. */
async function overrideRepositoryPrograms(directory: string, settings: Settings): Promise<Settings> {
  const folder = await findGitFolder(directory)
  if (!folder) return []
  const files = new Set(
    [folder.common, folder.own].flatMap(each => [join(each, 'config'), join(each, 'config.worktree')]),
  )
  const texts = await Promise.all([...files].map(file => readFile(file, 'latin1').catch(() => '')))
  if (!texts.some(text => NAMES_PROGRAMS.test(text))) return []
  return overridePrograms(directory, withSettings(['config', '--name-only', '-z', '--list'], settings))
}

const NAMES_PROGRAMS = /\[\s*(include|filter|merge|diff)/i

/** Settings that take the place of the programs that a repository names, by whatever name, in whatever file. */
async function overridePrograms(
  directory: string,
  { args, env }: { args: string[]; env: Record<string, string> },
): Promise<[key: string, value: string][]> {
  const limits = { timeoutMs: 10_000, maxBytes: 8_000_000 }
  const { code, stdout } = await runShort({ command: 'git', args, cwd: directory, env, ...limits })
  const names = new Set((code === 0 ? stdout : '').split('\0'))
  return [...names].flatMap((name): [string, string][] => {
    if (/^filter\..*\.(clean|smudge|process)$/is.test(name)) return [[name, '']]
    if (/^filter\..*\.required$/is.test(name)) return [[name, 'false']]
    if (/^merge\..*\.driver$/is.test(name)) return [[name, PLAIN_MERGE]]
    return []
  })
}

/** An empty one would take our side without a word; this is what git does with every other text. */
const PLAIN_MERGE = 'git merge-file --marker-size=%L %A %O %B'

/** Deeper ones are left to git, which gets slow there itself. */
const MAX_SUBMODULE_DEPTH = 5

/** Repositories that stand in the index of another one as submodules and are really there, and those in them. */
async function findSubmodules(directory: string, env: Record<string, string>, depth = 0): Promise<string[]> {
  const limits = { timeoutMs: 20_000, maxBytes: 32_000_000 }
  const listed = await runShort({ command: 'git', args: ['ls-files', '-s', '-z'], cwd: directory, env, ...limits })
  const links = (listed.code === 0 ? listed.stdout : '').split('\0').filter(line => line.startsWith('160000 '))
  const found: string[] = []
  for (const line of links) {
    const path = join(directory, line.slice(line.indexOf('\t') + 1))
    if ((await findGitFolder(path))?.top !== path) continue
    found.push(path, ...(depth < MAX_SUBMODULE_DEPTH ? await findSubmodules(path, env, depth + 1) : []))
  }
  return found
}

/** Asks git for settings with the person's own among them; only ever for `git config`, which starts nothing. */
export async function readPersonalConfig(
  directory: string,
  args: readonly ['config', ...string[]],
): Promise<{ stdout: string }> {
  const env: Record<string, string> = Object.fromEntries(
    PASSED_VARIABLES.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])),
  )
  const limits = { timeoutMs: 10_000, maxBytes: 1_000_000 }
  const run = { command: 'git', args: ['--no-pager', ...args], cwd: directory, env: { ...env, LC_ALL: 'C' } }
  const { code, stdout } = await runShort({ ...run, ...limits })
  return { stdout: code === 0 ? stdout : '' }
}

const PASSED_VARIABLES = [
  'PATH',
  'HOME',
  'XDG_CONFIG_HOME',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_NOSYSTEM',
  'GIT_CONFIG_SYSTEM',
]

/**
 * The person's own list of files that git is to ignore everywhere (`.DS_Store`, `.idea`), and not one that a repository names:
 * an agent could hide its work behind that. Their settings are only asked for it where they may say something.
 */
async function personalIgnoreFile(): Promise<string> {
  const own = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config')
  const files = [process.env['GIT_CONFIG_GLOBAL'] || join(homedir(), '.gitconfig'), join(own, 'git', 'config')]
  const texts = await Promise.all(files.map(file => readFile(file, 'latin1').catch(() => '')))
  const usual = join(own, 'git', 'ignore')
  if (!texts.some(text => /excludesfile|\[\s*include/i.test(text))) return usual
  const { stdout } = await readPersonalConfig('/', ['config', '--type=path', '--get', 'core.excludesFile'])
  return stdout.trimEnd() || usual
}

/** Who a commit is by where neither the repository nor the person says a name. */
const NOBODY = { name: 'PerpetualCC', email: 'pcc@localhost' }

/** Variables that name who commits: the person, as their settings and those of the repository have it. */
export async function committerEnv(directory: string): Promise<Record<string, string>> {
  const { stdout } = await readPersonalConfig(directory, ['config', '-z', '--get-regexp', '^user[.](name|email)$'])
  // Later lines come from nearer files, and count.
  const told = new Map(stdout.split('\0').map(line => splitAt(line, line.indexOf('\n'))))
  const name = told.get('user.name') || NOBODY.name
  const email = told.get('user.email') || NOBODY.email
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email }
}

function splitAt(line: string, at: number): [string, string] {
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}
