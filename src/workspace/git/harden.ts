import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { runShort } from '../../base/process/run-short.ts'
import { findGitFolder } from './git-folder.ts'

export interface HardenedCall {
  args: string[]
  env: Record<string, string>
}

/** Nobody knows which programs the repository's settings name, so git must not run there. */
export interface UnreadableSettings {
  problem: string
}

/**
 * Disables everything that a repository's settings could start during a call: hooks, the file watcher, pagers and editors,
 * signatures, maintenance, filters, merge drivers, external diff programs. The settings of the person and of the machine are not
 * read either.
 */
export async function hardenCall(
  directory: string,
  args: readonly string[],
): Promise<HardenedCall | UnreadableSettings> {
  return hardenWith(directory, args, SAFE_SETTINGS)
}

/** `hardenCall` with the directories that the person trusts although somebody else owns them; undefined if there are none. */
export async function hardenCallWithTrusted(
  directory: string,
  args: readonly string[],
): Promise<HardenedCall | UnreadableSettings | undefined> {
  const { stdout } = await readPersonalConfig('/', ['config', '-z', '--get-all', 'safe.directory'])
  const trusted = stdout.split('\0').filter(path => path !== '')
  if (trusted.length === 0) return undefined
  const settings = [...SAFE_SETTINGS, ...trusted.map((path): [string, string] => ['safe.directory', path])]
  return hardenWith(directory, args, settings)
}

type Settings = [key: string, value: string][]

const SAFE_SETTINGS: Settings = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  // With other values of these, a changed file could pass for an unchanged one.
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
  // Maintenance would run in the background, in a repository that is being checked.
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // A call does only what its arguments say.
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

/** Commands that show differences, and start an external program for that unless they are told not to. */
const SHOWS_DIFFERENCES = new Set(['diff', 'log', 'show', 'diff-tree', 'diff-index', 'diff-files', 'format-patch'])
/** Commands that look into submodules, where they would obey the submodule's own settings, which are not disabled. */
const LOOKS_INTO_SUBMODULES = new Set(['diff', 'status', 'diff-index', 'diff-files'])
/** Commands that ask submodules whether they are changed, and cannot be told not to. */
const ASKS_SUBMODULES = new Set(['add', 'commit', 'stash', 'rm'])
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

function withSettings([command = '', ...rest]: readonly string[], settings: Settings): HardenedCall {
  const flags = [
    ...(SHOWS_DIFFERENCES.has(command) ? ['--no-ext-diff', '--no-textconv'] : []),
    ...(LOOKS_INTO_SUBMODULES.has(command) ? ['--ignore-submodules=dirty'] : []),
  ]
  return {
    args: ['--no-pager', ...(command === 'check-ignore' ? [] : ['--literal-pathspecs']), command, ...flags, ...rest],
    env: {
      PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
      // A repository's settings may include a file by `~`, and git fails where that cannot be resolved.
      HOME: homedir(),
      LC_ALL: 'C',
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
    },
  }
}

async function hardenWith(
  directory: string,
  args: readonly string[],
  settings: Settings,
): Promise<HardenedCall | UnreadableSettings> {
  const [command = ''] = args
  if (ONLY_NAMES.has(command)) return withSettings(args, [...settings, ['core.excludesFile', '/dev/null']])
  const base: Settings = [...settings, ['core.excludesFile', await personalIgnoreFile()]]
  const programs = await overrideRepositoryPrograms(directory, base)
  if ('problem' in programs) return programs
  if (!ASKS_SUBMODULES.has(command)) return withSettings(args, [...base, ...programs])
  const submodules = await findSubmodules(directory, withSettings([], base).env)
  if ('problem' in submodules) return submodules
  const theirs = await Promise.all(submodules.map(path => overrideRepositoryPrograms(path, base)))
  const unreadable = theirs.find(found => 'problem' in found)
  if (unreadable) return unreadable
  return withSettings(args, [...base, ...programs, ...theirs.flatMap(found => ('problem' in found ? [] : found))])
}

/** Hardly any repository names programs: reading its files saves asking git, which takes as long as most calls. */
async function overrideRepositoryPrograms(
  directory: string,
  settings: Settings,
): Promise<Settings | UnreadableSettings> {
  const folder = await findGitFolder(directory)
  if (!folder) return []
  const files = new Set(
    [folder.common, folder.own].flatMap(path => [join(path, 'config'), join(path, 'config.worktree')]),
  )
  const texts = await Promise.all([...files].map(readSettings))
  if (!texts.some(text => NAMES_PROGRAMS.test(text))) return []
  return overridePrograms(directory, withSettings(['config', '--name-only', '-z', '--list'], settings))
}

/** A file that cannot be read now may be read by git a moment later: then git is asked what it reads. */
function readSettings(file: string): Promise<string> {
  return readFile(file, 'latin1').catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? '' : '[include]'))
}

const NAMES_PROGRAMS = /\[\s*(include|filter|merge|diff)/i

/** Settings that override the programs that a repository names, in any of its files. */
async function overridePrograms(
  directory: string,
  { args, env }: HardenedCall,
): Promise<Settings | UnreadableSettings> {
  const limits = { timeoutMs: 10_000, maxBytes: 8_000_000 }
  const { code, stdout, stderr, why } = await runShort({ command: 'git', args, cwd: directory, env, ...limits })
  if (code !== 0) return { problem: stderr.trim() || `fatal: the settings of the repository cannot be read: ${why}` }
  return [...new Set(stdout.split('\0'))].flatMap((name): [string, string][] => {
    if (/^filter\..*\.(clean|smudge|process)$/is.test(name)) return [[name, '']]
    if (/^filter\..*\.required$/is.test(name)) return [[name, 'false']]
    if (/^merge\..*\.driver$/is.test(name)) return [[name, PLAIN_MERGE]]
    return []
  })
}

/** An empty driver would silently take our side; this is what git does with every other text file. */
const PLAIN_MERGE = 'git merge-file --marker-size=%L %A %O %B'

/** Deeper submodules are left to git, which itself gets slow there. */
const MAX_SUBMODULE_DEPTH = 5

/** Checked-out submodules of a repository, and those inside them. */
async function findSubmodules(
  directory: string,
  env: Record<string, string>,
  depth = 0,
): Promise<string[] | UnreadableSettings> {
  const limits = { timeoutMs: 20_000, maxBytes: 32_000_000 }
  const listed = await runShort({ command: 'git', args: ['ls-files', '-s', '-z'], cwd: directory, env, ...limits })
  if (listed.code !== 0) return { problem: listed.stderr.trim() || `fatal: the index cannot be read: ${listed.why}` }
  const links = listed.stdout.split('\0').filter(line => line.startsWith('160000 '))
  const submodules: string[] = []
  for (const line of links) {
    const path = join(directory, line.slice(line.indexOf('\t') + 1))
    if ((await findGitFolder(path))?.top !== path) continue
    const inside = depth < MAX_SUBMODULE_DEPTH ? await findSubmodules(path, env, depth + 1) : []
    if ('problem' in inside) return inside
    submodules.push(path, ...inside)
  }
  return submodules
}

/** Reads settings including the person's own; only for `git config`, which starts no program. */
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
 * The person's own list of files that git ignores everywhere (`.DS_Store`, `.idea`), and not one that the repository names: an
 * agent could hide its work with that. Git is only asked for it where the person's settings may name one.
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
