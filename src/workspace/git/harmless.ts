import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findGitFolder } from './git-folder.ts'
import { innerRepositories } from './inner-repositories.ts'
import { namedPrograms } from './named-programs.ts'
import { personal, personalIgnores } from './personal.ts'

export interface Harmless {
  args: string[]
  env: Record<string, string>
}

/**
 * The same call with everything out of the way that a repository's settings could start: hooks, the file watcher, pagers and
 * editors, signatures, maintenance, filters, merge drivers, programs that show differences. The settings of the person and of
 * the machine do not count either.
 */
export async function harmless(directory: string, args: readonly string[]): Promise<Harmless> {
  return completed(directory, args, QUIET)
}

/** The same call with the directories that the person trusts although another owns them; undefined where there are none. */
export async function trustedDirectories(directory: string, args: readonly string[]): Promise<Harmless | undefined> {
  const { stdout } = await personal('/', ['config', '-z', '--get-all', 'safe.directory'])
  const trusted = stdout.split('\0').filter(each => each !== '')
  if (trusted.length === 0) return undefined
  const settings = [...QUIET, ...trusted.map((path): [string, string] => ['safe.directory', path])]
  return completed(directory, args, settings)
}

type Settings = [key: string, value: string][]

const QUIET: Settings = [
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

function withSettings([command = '', ...rest]: readonly string[], settings: Settings): Harmless {
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

async function completed(directory: string, args: readonly string[], settings: Settings): Promise<Harmless> {
  const [command = ''] = args
  if (ONLY_NAMES.has(command)) return withSettings(args, [...settings, ['core.excludesFile', '/dev/null']])
  const whole: Settings = [...settings, ['core.excludesFile', await personalIgnores()]]
  const programs = await ownPrograms(directory, whole)
  if (!ASKS_SUBMODULES.has(command)) return withSettings(args, [...whole, ...programs])
  const inner = await innerRepositories(directory, withSettings([], whole).env)
  const theirs = await Promise.all(inner.map(each => ownPrograms(each, whole)))
  return withSettings(args, [...whole, ...programs, ...theirs.flat()])
}

/** Nearly no repository names programs of its own: a look into its files saves asking git, which takes as long as most calls. */
async function ownPrograms(directory: string, settings: Settings): Promise<Settings> {
  const folder = await findGitFolder(directory)
  if (!folder) return []
  const files = new Set(
    [folder.common, folder.own].flatMap(each => [join(each, 'config'), join(each, 'config.worktree')]),
  )
  const texts = await Promise.all([...files].map(file => readFile(file, 'latin1').catch(() => '')))
  if (!texts.some(text => NAMES_PROGRAMS.test(text))) return []
  return namedPrograms(directory, withSettings(['config', '--name-only', '-z', '--list'], settings))
}

const NAMES_PROGRAMS = /\[\s*(include|filter|merge|diff)/i
