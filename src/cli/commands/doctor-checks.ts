import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findBubblewrap } from '../../agents/sandbox/bubblewrap.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { isolationLevel } from '../../base/process/isolation.ts'
import { programVersion } from '../../base/program.ts'
import { readDiskReport, readFreeBytes } from '../../daemon/disk.ts'
import { agentEnvironment, STANDARD_AGENT_ENV } from '../../domain/agent-env.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { type Config, defaultValues, SETTING_KEYS, settingOf } from '../../domain/config/settings.ts'
import { setUpOf } from '../../human/notify/channel-setup.ts'
import type { RebuildResult } from '../../store/rebuild.ts'
import type { Client } from '../connection/client.ts'
import { counted } from '../render/format.ts'
import { neutral, type Terminal, type Tone } from '../render/text.ts'
import { sessionEnvironment } from '../session-env.ts'

/** What one look came to. `mend` says what to do about it; a warning may be lived with. */
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
  /** The settings, where they can be read. */
  config: Config | undefined
  /** The daemon, where one answers. */
  client: Client | undefined
  /** One that is there and gives no answer. */
  silent: AppError | undefined
}

export type DoctorCheck = (patient: DoctorContext) => DoctorFinding[] | Promise<DoctorFinding[]>

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

const LOOKS: Record<DoctorFinding['level'], { sign: string; tone: Tone }> = {
  ok: { sign: '✓', tone: 'green' },
  warning: { sign: '!', tone: 'yellow' },
  problem: { sign: '✗', tone: 'red' },
}

/** One line for each finding, and under what is not well how to mend it. */
export function findingLines(findings: DoctorFinding[], { paint }: Terminal): string[] {
  const width = Math.max(...findings.map(({ area }) => area.length))
  const lines = findings.flatMap(({ area, level, says, mend }) => {
    const { sign, tone } = LOOKS[level]
    const line = `${paint(tone, sign)} ${area.padEnd(width)}  ${neutral(says)}`
    return mend === undefined ? [line] : [line, `${' '.repeat(width + 4)}${paint('dim', `→ ${neutral(mend)}`)}`]
  })
  return [...lines, '', summary(findings)]
}

/** What a repair came to. */
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
  const of = (level: DoctorFinding['level']) => findings.filter(finding => finding.level === level).length
  if (of('problem') > 0) return `${counted(of('problem'), 'problem')}, ${counted(of('warning'), 'warning')}.`
  return of('warning') > 0 ? `No problem, ${counted(of('warning'), 'warning')}.` : 'All is well.'
}

const run = promisify(execFile)

/** Programs answer within milliseconds; the agent starts a whole runtime. */
const PATIENCE_MS = 20_000

export const checkPrograms: DoctorCheck = async patient => [
  ok('pcc', `version ${programVersion()}, Node ${process.versions.node}`),
  await tool('git', ['--version'], patient, {
    need: problem('git', 'git is not on your PATH', 'Install git: projects and checkpoints need it.'),
  }),
  await tool('tmux', ['-V'], patient, {
    need: warning(
      'tmux',
      'tmux is not on your PATH',
      'Install it if you want sessions that live in a terminal of their own.',
    ),
  }),
  ...(await agent(patient)),
]

async function tool(
  name: string,
  args: string[],
  { env }: DoctorContext,
  { need }: { need: DoctorFinding },
): Promise<DoctorFinding> {
  if (!findProgram(name, env)) return need
  try {
    const { stdout } = await run(name, args, { timeout: PATIENCE_MS, env: process.env })
    return ok(name, stdout.trim().split('\n')[0] ?? '')
  } catch (error) {
    return problem(name, `it does not run: ${firstLine(error)}`, `Install ${name} anew.`)
  }
}

/** The agent as sessions start it: the program of the settings, in the environment that reaches it. */
async function agent(patient: DoctorContext): Promise<DoctorFinding[]> {
  const { paths, env, config } = patient
  let program: string
  try {
    program = config?.agents.path ?? (await import('../../agents/claude/options.ts')).bundledProgram()
  } catch (error) {
    return [problem('agent', firstLine(error), 'Install pcc again: npm i -g perpetualcc')]
  }
  // Settings that cannot be read are told elsewhere; without them the standard list holds.
  const agentEnv = await sessionEnvironment({ paths, env, project: process.cwd() }).catch(() =>
    agentEnvironment(env, STANDARD_AGENT_ENV),
  )
  try {
    const { stdout } = await run(program, ['--version'], { timeout: PATIENCE_MS, env: agentEnv })
    return [ok('agent', `${stdout.trim()} at ${program}`), await login(program, agentEnv)]
  } catch (error) {
    return [
      problem('agent', `${program} does not run: ${firstLine(error)}`, 'Correct agents.path, or install pcc again.'),
    ]
  }
}

/** Only whether there is a login, by the agent's own word; no key is looked at. */
async function login(program: string, env: Record<string, string>): Promise<DoctorFinding> {
  const none = problem(
    'login',
    'the agent is not logged in',
    'Log in with: pcc agents login (or set ANTHROPIC_API_KEY)',
  )
  try {
    const { stdout } = await run(program, ['auth', 'status', '--json'], { timeout: PATIENCE_MS, env })
    const { loggedIn, authMethod } = JSON.parse(stdout) as { loggedIn?: boolean; authMethod?: string }
    return loggedIn ? ok('login', `logged in (${authMethod ?? 'by a way it does not tell'})`) : none
  } catch (error) {
    // It says "not logged in" with exit code 1, and its words are in the error then.
    const said = (error as { stdout?: string }).stdout ?? ''
    if (said.includes('"loggedIn"')) return none
    return warning(
      'login',
      `the agent does not say whether it is logged in: ${firstLine(error)}`,
      'Try: pcc agents login',
    )
  }
}

function firstLine(error: unknown): string {
  return messageOf(error).split('\n')[0] ?? ''
}

export const checkSettings: DoctorCheck = async patient => [
  ...(await config(patient)),
  ...notifications(patient),
  isolation(patient),
  await sandbox(patient),
]

async function config({ paths, env }: DoctorContext): Promise<DoctorFinding[]> {
  try {
    const { values } = await loadConfig({ paths, env })
    const mode = statSync(paths.configFile, { throwIfNoEntry: false })?.mode
    if (mode === undefined) return [ok('config', 'no file of your own; the defaults hold')]
    const written = SETTING_KEYS.filter(key => settingOf(key).secret && values[key] !== undefined)
    const bare = written.filter(key => !String(values[key]).startsWith('env:'))
    if (bare.length > 0 && (mode & 0o077) !== 0) {
      const says = `${paths.configFile} holds ${bare.join(', ')} and others can read it`
      return [warning('config', says, `Close it: chmod 600 ${paths.configFile}`)]
    }
    return [ok('config', `${paths.configFile} is valid`)]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [problem('config', error.message, error.next)]
  }
}

function notifications({ config, env }: DoctorContext): DoctorFinding[] {
  if (!config) return []
  const { channels, problems } = setUpOf(config.notifications, env)
  const broken = problems.map(({ channel, problem: what }) =>
    warning('notifications', `${channel}: ${what}`, 'Set it with: pcc config set, then try: pcc notify test'),
  )
  const working = channels.length > 0 ? channels.join(', ') : 'none is set up; pcc pending shows what waits'
  return [...broken, ok('notifications', working)]
}

/** What the promise "no process is left" rests on here. */
function isolation({ config }: DoctorContext): DoctorFinding {
  const level = isolationLevel(config?.agents.isolation)
  if (level === 'namespace') return ok('isolation', 'agents run in a PID namespace: nothing they start can escape')
  const says =
    'agents are found by a marker: only a process that both loses its parent and drops all it inherited escapes'
  return ok('isolation', says)
}

/** What stands around an agent that is not held to every call. */
async function sandbox({ config, env }: DoctorContext): Promise<DoctorFinding> {
  const mode = config?.agents.sandbox ?? 'auto'
  if (mode === 'off') return ok('sandbox', 'switched off: agents that are not held to every call run without one')
  const found = await findBubblewrap(env)
  if ('program' in found)
    return ok('sandbox', `bubblewrap ${found.version}: agents that are not held to every call run in it`)
  if (mode === 'required') return problem('sandbox', `required, and ${found.problem}`, found.install)
  return ok(
    'sandbox',
    `none, ${found.problem}: it is only for agents that are not held to every call. ${found.install}`,
  )
}

const MB = 1024 * 1024

export const checkFiles: DoctorCheck = patient => [...disk(patient), ...modes(patient), socket(patient)]

/** The nearest directory there is: before the first start there is none of ours. */
function disk({ paths, config }: DoctorContext): DoctorFinding[] {
  const dir = [paths.data, paths.home].find(path => existsSync(path))
  if (!dir) return [ok('disk', `${paths.home} is made at the first start`)]
  const { state, reason } = readDiskReport(dir, config?.data.min_free_mb ?? defaultValues()['data.min_free_mb'])
  if (state === 'ok') return [ok('disk', `${Math.floor(readFreeBytes(dir) / MB)} MB free in ${dir}`)]
  const mend =
    state === 'full'
      ? 'Free some space; what waits for it goes on by itself.'
      : 'Make it writable for you, or name another directory with --data-dir or data.directory.'
  return [problem('disk', reason, mend)]
}

/** Who else could read the token, the kept environments, the database. */
function modes({ paths }: DoctorContext): DoctorFinding[] {
  const secrets = join(paths.run, 'secrets')
  const kept = existsSync(secrets) ? readdirSync(secrets).map(name => join(secrets, name)) : []
  const ours = [paths.run, paths.logs, paths.tokenFile, paths.database, paths.trustFile, ...kept]
  const open = ours.filter(path => existsSync(path)).filter(path => (statSync(path).mode & 0o077) !== 0)
  const foreign = ours.filter(path => existsSync(path)).filter(path => statSync(path).uid !== process.getuid?.())
  const findings = [
    ...open.map(path => warning('permissions', `others can read ${path}`, `Close it: chmod go-rwx ${path}`)),
    ...foreign.map(path =>
      problem('permissions', `${path} belongs to another user`, 'Give it back with chown, or remove it.'),
    ),
  ]
  return findings.length > 0 ? findings : [ok('permissions', 'only you can read what is kept')]
}

function socket({ paths: { socket: path, run } }: DoctorContext): DoctorFinding {
  const isElsewhere = !path.startsWith(run)
  return ok('socket', isElsewhere ? `${path} (the path of your home is too long for one inside of it)` : path)
}
