import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bundledProgram } from '../../agents/claude/bundled-program.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { isolationLevel } from '../../base/process/isolation.ts'
import { problemOf, runShort, type ShortCommandResult } from '../../base/process/run-short.ts'
import { programVersion } from '../../base/program.ts'
import { describeProgram, findBubblewrap } from '../../base/sandbox/bubblewrap.ts'
import { canScope } from '../../base/sandbox/seccomp.ts'
import type { SandboxProgram } from '../../base/sandbox/settings.ts'
import { quoteForShell } from '../../base/words.ts'
import { readDiskReport, readFreeBytes } from '../../daemon/disk.ts'
import { agentEnvironment, STANDARD_AGENT_ENV } from '../../domain/agent-env.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import { fillSecrets, isReference } from '../../domain/config/secret-references.ts'
import { type Config, defaultValues, SETTING_KEYS, settingOf } from '../../domain/config/settings.ts'
import { readChannelSetup } from '../../human/notify/channel-setup.ts'
import type { RebuildResult } from '../../store/rebuild.ts'
import { describeNetwork, networkInside } from '../../workspace/command/plan-sandbox.ts'
import type { CheckedClient } from '../connection/client.ts'
import { counted } from '../render/format.ts'
import { type Terminal, type Tone, wrap } from '../render/text.ts'
import { sessionEnvironment } from '../session-env.ts'
import { findLogin } from './preflight-checks.ts'

/** The result of one check. `mend` says how to repair it; a warning may be left as it is. */
export interface DoctorFinding {
  area: string
  level: 'ok' | 'warning' | 'problem'
  says: string
  mend?: string
}

/** What every check works with. */
export interface DoctorContext {
  paths: AppPaths
  env: Record<string, string | undefined>
  now: number
  /** Whether the agent is started and asked. */
  deep: boolean
  /** The settings, or why they cannot be read. */
  loaded: LoadedConfig | AppError
  config: Config | undefined
  /** The daemon, if one answers. */
  client: CheckedClient | undefined
  /** The error of a daemon that runs but does not answer. */
  silent: AppError | undefined
}

export type DoctorCheck = (context: DoctorContext) => DoctorFinding[] | Promise<DoctorFinding[]>

export const ok = (area: string, says: string): DoctorFinding => ({ area, level: 'ok', says })
export const warning = (area: string, says: string, mend: string): DoctorFinding => ({
  area,
  level: 'warning',
  says,
  mend,
})
export const problem = (area: string, says: string, mend: string): DoctorFinding => ({
  area,
  level: 'problem',
  says,
  mend,
})

const LEVEL_STYLES: Record<DoctorFinding['level'], { sign: string; tone: Tone }> = {
  ok: { sign: '✓', tone: 'green' },
  warning: { sign: '!', tone: 'yellow' },
  problem: { sign: '✗', tone: 'red' },
}

/** One line for each finding, followed by how to repair it if something is wrong. */
export function findingLines(findings: DoctorFinding[], { paint, width: columns }: Terminal): string[] {
  const width = Math.max(...findings.map(({ area }) => area.length))
  const lines = findings.flatMap(({ area, level, says, mend }) => {
    const { sign, tone } = LEVEL_STYLES[level]
    const [first = '', ...more] = wrap(neutral(says), columns - width - 5)
    const help = mend === undefined ? [] : wrap(`→ ${neutral(mend)}`, columns - width - 5)
    return [
      `${paint(tone, sign)} ${area.padEnd(width)}  ${first}`,
      ...[...more, ...help.map(line => paint('dim', line))].map(line => `${' '.repeat(width + 4)}${line}`),
    ]
  })
  return [...lines, '', summary(findings)]
}

/** Describes the result of a repair. */
export function rebuiltLines({ kept, rows, dropped }: RebuildResult): string[] {
  const lost = Object.entries(dropped).map(([table, count]) => `${count} of ${table}`)
  return [
    'The store was damaged and is rebuilt from what could be read:',
    ...Object.entries(rows).map(([table, count]) => `  ${table.padEnd(20)} ${counted(count, 'row')}`),
    ...(lost.length > 0 ? [`Rows that were read but made no sense: ${lost.join(', ')}.`] : []),
    `The damaged file is kept: ${kept}`,
  ]
}

function summary(findings: DoctorFinding[]): string {
  const count = (level: DoctorFinding['level']) => findings.filter(finding => finding.level === level).length
  if (count('problem') > 0) return `${counted(count('problem'), 'problem')}, ${counted(count('warning'), 'warning')}.`
  return count('warning') > 0 ? `No problem, ${counted(count('warning'), 'warning')}.` : 'All is well.'
}

/** Most programs answer within milliseconds, but the agent starts a whole runtime. */
const PROGRAM_TIMEOUT_MS = 20_000

function run(command: string, args: string[], env: DoctorContext['env']): Promise<ShortCommandResult> {
  return runShort({ command, args, cwd: process.cwd(), env, timeoutMs: PROGRAM_TIMEOUT_MS, maxBytes: 1_000_000 })
}

/** All at once: each starts a program and waits for it. */
export const checkPrograms: DoctorCheck = async context => {
  const found = await Promise.all([
    checkTool('git', ['--version'], context, {
      missing: problem('git', 'git is not on your PATH', 'Install git: projects and checkpoints need it.'),
    }),
    checkTool('tmux', ['-V'], context, {
      missing: warning('tmux', 'tmux is not on your PATH', 'Install it if you want sessions in their own terminal.'),
      isOptional: true,
    }),
    ...(process.platform === 'linux' ? [checkTool('ss', ['-V'], context, { missing: NO_SS, isOptional: true })] : []),
    checkAgent(context),
  ])
  return [ok('pcc', `version ${programVersion()}, Node ${process.versions.node}`), ...found.flat()]
}

const NO_SS = warning(
  'ss',
  'ss is not on your PATH',
  'Install iproute2: without it the daemon cannot tell you from an agent (pcc docs security).',
)

async function checkTool(
  name: string,
  args: string[],
  { env, deep }: DoctorContext,
  { missing, isOptional = false }: { missing: DoctorFinding; isOptional?: boolean },
): Promise<DoctorFinding> {
  const program = findProgram(name, env)
  if (!program) return missing
  if (isOptional && !deep) return ok(name, `${program} is there (${NOT_STARTED})`)
  const result = await run(name, args, env)
  const why = problemOf(result)
  if (why !== undefined) return problem(name, `it does not run: ${why}`, `Install ${name} again.`)
  return ok(name, result.stdout.trim().split('\n')[0] ?? '')
}

/** Checks the agent as a session starts it: the configured program, in the environment that a session gives it. */
async function checkAgent(context: DoctorContext): Promise<DoctorFinding[]> {
  const { paths, env, config } = context
  let program: string
  try {
    program = config?.agents.path ?? bundledProgram()
  } catch (error) {
    return [problem('agent', firstLineOf(error), 'Install pcc again: npm i -g perpetualcc')]
  }
  // Unreadable settings are reported by `checkConfig`; the standard list of variables is used then.
  const agentEnv = await sessionEnvironment({ paths, env, project: process.cwd() }).catch(() =>
    agentEnvironment(env, STANDARD_AGENT_ENV),
  )
  if (!context.deep) return [checkProgramFile(program), checkStoredLogin(agentEnv)]
  const [result, login] = await Promise.all([run(program, ['--version'], agentEnv), checkLogin(program, agentEnv)])
  const why = problemOf(result)
  if (why !== undefined)
    return [problem('agent', `${program} does not run: ${why}`, 'Correct agents.path, or install pcc again.')]
  return [ok('agent', `${result.stdout.trim()} at ${program}`), login]
}

/** The agent is a whole runtime, which takes longer to start than all other checks together. */
const NOT_STARTED = 'not started; pcc doctor --deep starts it'

function checkProgramFile(program: string): DoctorFinding {
  const mode = statSync(program, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o111) !== 0) return ok('agent', `${program} is there (${NOT_STARTED})`)
  return problem('agent', `${program} cannot be run`, 'Correct agents.path, or install pcc again.')
}

/** Whether there is a login, by its variable or file alone. */
function checkStoredLogin(env: Record<string, string>): DoctorFinding {
  const login = findLogin('claude', env)
  if (!login) return LOGGED_OUT
  const { by, name } = login
  if (by === 'elsewhere') return ok('login', `it comes from ${name} (not looked at; pcc doctor --deep asks the agent)`)
  const found = by === 'variable' ? `${name} is set` : `${name} is there`
  return ok('login', `${found} (not tried; pcc doctor --deep asks the agent)`)
}

const LOGGED_OUT = problem(
  'login',
  'the agent is not logged in',
  'Log in with: pcc agents login (or set ANTHROPIC_API_KEY)',
)

/** Asks the agent itself whether it is logged in; no key is read. */
async function checkLogin(program: string, env: Record<string, string>): Promise<DoctorFinding> {
  const result = await run(program, ['auth', 'status', '--json'], env)
  try {
    // "Not logged in" comes with exit code 1.
    if (result.code !== 0 && result.stdout.includes('"loggedIn"')) return LOGGED_OUT
    const why = problemOf(result)
    if (why !== undefined) throw new Error(why)
    const { loggedIn, authMethod } = JSON.parse(result.stdout) as { loggedIn?: boolean; authMethod?: string }
    return loggedIn ? ok('login', `logged in (${authMethod ?? 'by an unknown method'})`) : LOGGED_OUT
  } catch (error) {
    return warning(
      'login',
      `the agent does not say whether it is logged in: ${firstLineOf(error)}`,
      'Try: pcc agents login',
    )
  }
}

function firstLineOf(error: unknown): string {
  return messageOf(error).split('\n')[0] ?? ''
}

export const checkSettings: DoctorCheck = async context => {
  // They wait for programs, and the others are done meanwhile.
  const probed = Promise.all([describeIsolation(context), checkSandbox(context)])
  return [
    ...checkConfig(context),
    ...(await checkAccepted(context)),
    ...(await checkNotifications(context)),
    ...(await probed).flat(),
  ]
}

function checkConfig({ paths, loaded }: DoctorContext): DoctorFinding[] {
  if (loaded instanceof AppError) return [problem('config', loaded.message, loaded.next)]
  const { values, warnings } = loaded
  const mode = statSync(paths.configFile, { throwIfNoEntry: false })?.mode
  if (mode === undefined) return [ok('config', 'no config file; the defaults apply')]
  const secrets = SETTING_KEYS.filter(key => settingOf(key).secret && values[key] !== undefined)
  const inPlainText = secrets.filter(key => !isReference(values[key]))
  if (inPlainText.length > 0 && (mode & 0o077) !== 0) {
    const says = `${paths.configFile} holds ${inPlainText.join(', ')} and others can read it`
    return [warning('config', says, `Close it: chmod 600 ${quoteForShell(paths.configFile)}`)]
  }
  const mend = 'Take it out; everything else in the file counts.'
  return [ok('config', `${paths.configFile} is valid`), ...warnings.map(says => warning('config', says, mend))]
}

/** Names the person's files that somebody else changed. */
async function checkAccepted({ paths }: DoctorContext): Promise<DoctorFinding[]> {
  const { findChanges } = await import('./accept.ts')
  return (await findChanges(paths)).map(({ path }) => {
    const says = `${path} was changed outside pcc; what you accepted before stays in force`
    return warning('config', says, 'See the difference: pcc accept')
  })
}

async function checkNotifications({ paths, config, env }: DoctorContext): Promise<DoctorFinding[]> {
  if (!config) return []
  // Imported on use: it loads the schemas of the file that holds the secrets.
  const { openSecrets } = await import('../../domain/config/open-secrets.ts')
  const { notifications } = await fillSecrets(config, openSecrets({ paths, env }))
  const { channels, problems } = readChannelSetup(notifications, env)
  const broken = problems.map(({ channel, problem: what }) =>
    warning('notifications', `${channel}: ${what}`, 'Set it with: pcc config set, then try: pcc notify test'),
  )
  const working = channels.length > 0 ? channels.join(', ') : 'none is set up; pcc pending shows what waits'
  return [...broken, ok('notifications', working)]
}

/** Says how pcc makes sure on this machine that no process of an agent is left. */
async function describeIsolation({ config }: DoctorContext): Promise<DoctorFinding> {
  const level = await isolationLevel(config?.agents.isolation)
  if (level === 'namespace') return ok('isolation', 'agents run in a PID namespace: nothing they start can escape')
  const says =
    'the processes of agents are found by a marker: only one that both loses its parent and drops all it inherited escapes'
  return ok('isolation', says)
}

/** Checks the sandbox of agents, gates and set-up commands. */
async function checkSandbox({ config, env }: DoctorContext): Promise<DoctorFinding[]> {
  const mode = config?.agents.sandbox ?? 'auto'
  const unbounded = 'what agents write and run can do all that you can'
  if (mode === 'off') return [ok('sandbox', `switched off (agents.sandbox): ${unbounded}`)]
  const bubblewrap = await findBubblewrap(env)
  if (!('program' in bubblewrap))
    return [
      problem(
        'sandbox',
        `${mode === 'required' ? 'required' : 'none'}, ${bubblewrap.problem}: ${unbounded}`,
        bubblewrap.install,
      ),
    ]
  return describeSandbox(bubblewrap, config?.agents.network ?? [], canScope)
}

/** Says what surrounds agents, and what it leaves open on an old kernel. */
export function describeSandbox(
  program: SandboxProgram,
  hosts: readonly string[],
  closesSockets: () => boolean,
): DoctorFinding[] {
  const isMachines = networkInside(hosts, true).includes('*')
  const says = `${describeProgram(program)}: agents, gates and set-up commands run in it; network: ${describeNetwork(hosts, true)}`
  // A network of its own, which a list of hosts needs, has none of the machine's sockets.
  const isOpen = isMachines && program.kind !== 'seatbelt' && !closesSockets()
  return [ok('sandbox', says), ...(isOpen ? [warning('sandbox', OPEN_SOCKETS, CLOSE_SOCKETS)] : [])]
}

const OPEN_SOCKETS =
  "programs in it reach abstract sockets of this machine, such as a desktop's, through which they can type for you: its kernel cannot close them"
const CLOSE_SOCKETS =
  'Use Linux 6.12 or newer with /usr/bin/perl, or list hosts in agents.network, or type: xhost -si:localuser:$USER'

const GB = 1024 ** 3

export const checkFiles: DoctorCheck = context => [
  ...checkDisk(context),
  ...checkModes(context),
  describeSocket(context),
]

/** Checks the data directory, or the home before there is one. Before the first start neither exists. */
function checkDisk({ paths, config }: DoctorContext): DoctorFinding[] {
  const dir = [paths.data, paths.home].find(path => existsSync(path))
  if (!dir) return [ok('disk', `${paths.home} is created at the first start`)]
  const { state, reason } = readDiskReport(dir, config?.data.min_free_mb ?? defaultValues()['data.min_free_mb'])
  if (state === 'ok') return [ok('disk', `${Math.floor(readFreeBytes(dir) / GB)} GB free in ${dir}`)]
  const mend =
    state === 'full'
      ? 'Free some space; work that waits for it goes on by itself.'
      : 'Make it writable for you, or name another directory with --data-dir or data.directory.'
  return [problem('disk', reason, mend)]
}

/** Checks whether another user could read the token, the stored environments or the database. */
function checkModes({ paths }: DoctorContext): DoctorFinding[] {
  const secrets = join(paths.run, 'secrets')
  const kept = existsSync(secrets) ? readdirSync(secrets).map(name => join(secrets, name)) : []
  const ours = [paths.run, paths.logs, paths.tokenFile, paths.database, paths.trustFile, ...kept]
  const open = ours.filter(path => existsSync(path)).filter(path => (statSync(path).mode & 0o077) !== 0)
  const foreign = ours.filter(path => existsSync(path)).filter(path => statSync(path).uid !== process.getuid?.())
  const findings = [
    ...open.map(path =>
      warning('permissions', `others can read ${path}`, `Close it: chmod go-rwx ${quoteForShell(path)}`),
    ),
    ...foreign.map(path =>
      problem('permissions', `${path} belongs to another user`, 'Give it back with chown, or remove it.'),
    ),
  ]
  return findings.length > 0 ? findings : [ok('permissions', 'only you can read what is kept')]
}

function describeSocket({ paths: { socket: path, run } }: DoctorContext): DoctorFinding {
  const isOutsideHome = !path.startsWith(run)
  return ok('socket', isOutsideHome ? `${path} (the path of your home is too long for one inside of it)` : path)
}
