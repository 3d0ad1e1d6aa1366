import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { appPathsFor } from '../../base/app-paths.ts'
import { isAlive, startTimeOf } from '../../base/process/process-table.ts'
import { problemOf, runShort, type ShortCommandResult } from '../../base/process/run-short.ts'
import type { OpenAsk, SessionView } from '../../domain/api.ts'
import { openSimulator } from '../../simulator/open.ts'
import { type CheckedClient, openClient } from '../connection/client.ts'
import type { CommandContext } from '../context.ts'
import { type AskReply, type Person, permissionPrompt, questionKeys, REASON_PROMPT } from '../live/asks.ts'
import { openScreen } from '../live/terminal.ts'
import { watchSession } from '../live/watch.ts'
import { startHeader } from '../render/session-page.ts'
import { closingLines } from '../render/summary.ts'
import { INDENT, type Terminal } from '../render/text.ts'
import { stopDaemon } from './daemon.ts'
import { DEMO_ANSWER, DEMO_COMMIT_MESSAGE, DEMO_FILES, DEMO_SCENARIO, DEMO_TASK } from './demo-scenario.ts'

/** Nothing in the demo takes this long unless it hangs. */
const LIMIT_MS = 120_000
const STOP_MS = 15_000

/**
 * The demo: the real daemon and the real Claude Code on a small job, with a scripted model on loopback and a scripted
 * person at the terminal. It leaves nothing behind, whatever happens. Returns the exit code: 0 if every check of the result passes.
 */
export async function runDemo(context: CommandContext): Promise<number> {
  const interrupted = new AbortController()
  const onSignal = () => interrupted.abort()
  for (const signal of SIGNALS) process.once(signal, onSignal)
  process.stdout.on('error', onSignal)
  try {
    using sandbox = await makeDemoSandbox(context.env)
    await using simulator = await openSimulator({ text: DEMO_SCENARIO })
    await using daemon = await startDaemonIn(sandbox)
    const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(LIMIT_MS)])
    const env = { ...sandbox.env, ...agentVariables(simulator.url) }
    const session = await showSession({ sandbox, client: daemon.client, env, context, signal })
    if (!session) return interrupted.signal.aborted ? 130 : fail(context, 'The demo did not end in time.')
    return report(await checkDemo(sandbox, session), context)
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    process.stdout.off('error', onSignal)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface ShowOptions {
  sandbox: DemoSandbox
  client: CheckedClient
  env: Record<string, string>
  context: CommandContext
  signal: AbortSignal
}

async function showSession({ sandbox, client, env, context, signal }: ShowOptions): Promise<SessionView | undefined> {
  const { terminal, json, out, verbose } = context
  const screen = openScreen(process.stdout)
  const request = { project: sandbox.project, task: DEMO_TASK, name: 'demo', env }
  const session = await client.request<SessionView>('POST', '/sessions', request)
  if (!json)
    screen.print([...intro(context), ...startHeader(session, { terminal, cwd: sandbox.root, home: undefined })])
  const watch = {
    client,
    session,
    terminal,
    screen: json ? { ticks: false, print: () => {}, pin: () => {}, prompt: () => {} } : screen,
    verbose,
    after: 0,
    env,
    signal,
    raw: json ? (event: unknown) => out(JSON.stringify(event)) : undefined,
  }
  const ended = await watchSession({ ...watch, person: scriptedPerson(terminal) })
  if (!ended) return undefined
  const finished = await client.request<SessionView>('GET', `/sessions/${session.id}`)
  if (!json) screen.print(await closingLines(client, finished, { id: finished.id, terminal }))
  return finished
}

function intro({ terminal }: CommandContext): string[] {
  return [
    'The real Claude Code, supervised, in a temporary git project. Its model is a script on 127.0.0.1:',
    'no account, no network, no cost (the prices shown are what the tokens would have cost).',
    terminal.paint('dim', `Task: ${DEMO_TASK}`),
    '',
  ]
}

function report(checks: DemoCheck[], { json, terminal, out }: CommandContext): number {
  const ok = checks.every(check => check.ok)
  if (json) out(JSON.stringify({ demo: { ok, checks } }))
  else {
    out('')
    out('Checked afterwards:')
    for (const check of checks)
      out(`  ${check.ok ? terminal.paint('green', '✓') : terminal.paint('red', '✗')} ${check.what}`)
  }
  return ok ? 0 : 1
}

function fail({ note }: CommandContext, text: string): number {
  note(text)
  return 1
}

/** Starts the daemon of the sandbox. Disposing of it ends the daemon and every agent. */
async function startDaemonIn(sandbox: DemoSandbox): Promise<AsyncDisposable & { client: CheckedClient }> {
  const paths = appPathsFor({ env: sandbox.env })
  const client = await openClient(paths, { env: sandbox.env })
  const { pid } = client.health
  const startTime = (await startTimeOf(pid)) ?? ''
  return {
    client,
    async [Symbol.asyncDispose]() {
      const gone = await stopDaemon(client, paths, { timeoutMs: STOP_MS }).catch(() => false)
      // The daemon hangs or did not answer. Its agents end with it: their guardians see to that.
      if (!gone && (await isAlive({ pid, startTime }))) process.kill(pid, 'SIGKILL')
    },
  }
}

/** A temporary home and project: nothing of the person's home, settings, logins or keys is in it. */
interface DemoSandbox extends Disposable {
  root: string
  project: string
  /** A file that must still exist at the end. */
  keepsake: string
  /** The environment of every process in it. */
  env: Record<string, string>
}

/** Makes the sandbox: a home, a git project whose tests fail, and backups beside it that must not be touched. */
async function makeDemoSandbox(caller: Record<string, string | undefined>): Promise<DemoSandbox> {
  const root = mkdtempSync(join(tmpdir(), 'pcc-demo-'))
  const home = join(root, 'home')
  const project = join(root, 'slugs')
  const keepsake = join(root, 'backups', 'photos.txt')
  const env = bareEnvironment(root, home, caller)
  try {
    for (const [path, text] of Object.entries(DEMO_FILES)) write(join(project, path), text)
    write(keepsake, 'ten years of photos\n')
    mkdirSync(home)
    const git = async (...args: string[]) => {
      const result = await runInSandbox('git', args, { project, env })
      const why = problemOf(result)
      if (why !== undefined) throw new Error(`git ${args[0]}: ${result.stderr.trim() || why}`)
    }
    await git('init', '-q', '-b', 'main')
    await git('config', 'user.name', 'Demo')
    await git('config', 'user.email', 'demo@example.invalid')
    await git('add', '-A')
    await git('commit', '-q', '-m', 'Tests first')
  } catch (error) {
    remove(root)
    throw error
  }
  return { root, project, keepsake, env, [Symbol.dispose]: () => remove(root) }
}

function runInSandbox(
  command: string,
  args: string[],
  { project, env }: Pick<DemoSandbox, 'project' | 'env'>,
): Promise<ShortCommandResult> {
  return runShort({ command, args, cwd: project, env, timeoutMs: LIMIT_MS, maxBytes: 1_000_000 })
}

/** Takes from the caller only what affects display; PATH holds the system's directories and this Node's. */
function bareEnvironment(
  root: string,
  home: string,
  caller: Record<string, string | undefined>,
): Record<string, string> {
  const inherited = ['LANG', 'LC_ALL', 'TZ', 'TERM', 'PCC_TEST_RUN'].flatMap(name => {
    const value = caller[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(inherited),
    HOME: home,
    TMPDIR: tmpdir(),
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    PCC_HOME: join(root, 'pcc'),
    // This daemon lives for a minute, and nothing should start it again after it was killed.
    PCC_DAEMON_PARENT: 'false',
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    GIT_CONFIG_NOSYSTEM: '1',
    // Who answers is never the client's word: the demo's own daemon is told whom to name.
    PCC_DEMO_PERSON: PERSON_NAME,
  }
}

/** Points the real agent at the scripted model, with a key that is worth nothing elsewhere. */
function agentVariables(url: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-demo-not-a-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '2',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function remove(root: string): void {
  rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}

/** The name that is stored and shown as the author of the demo's answers. */
const PERSON_NAME = 'scripted person'
/** The width of `() y`, which follows the keys. */
const TYPED_WIDTH = 4
const REFUSAL = 'Leave what is outside the project alone.'

/** Plays a person at the terminal: chooses an answer to the question and refuses the permission. It is shown as scripted. */
function scriptedPerson(terminal: Terminal): Person {
  // The prompt, the name and the typed answer share one line.
  const width = terminal.width - INDENT - PERSON_NAME.length - TYPED_WIDTH
  return {
    async answer(ask, { echo }) {
      const type = (keys: string, typed: string) =>
        echo(`${' '.repeat(INDENT)}${keys}${terminal.paint('cyan', `(${PERSON_NAME}) ${typed}`)}`)
      if (ask.kind === 'question') return chooseAnswers(ask, type)
      type(permissionPrompt(ask, width), 't')
      type(REASON_PROMPT, REFUSAL)
      return { verdict: 'deny', reason: REFUSAL }
    },
  }
}

function chooseAnswers(
  ask: Extract<OpenAsk, { kind: 'question' }>,
  type: (keys: string, typed: string) => void,
): AskReply {
  const answers: Record<string, string> = {}
  for (const item of ask.questions) {
    const index = Math.max(
      0,
      item.options.findIndex(option => option.label === DEMO_ANSWER),
    )
    type(questionKeys(item), String(index + 1))
    answers[item.question] = item.options[index]?.label ?? DEMO_ANSWER
  }
  return { answers }
}

interface DemoCheck {
  what: string
  ok: boolean
}

/** Checks the sandbox itself, not what was reported about it. */
async function checkDemo(sandbox: DemoSandbox, session: SessionView): Promise<DemoCheck[]> {
  const file = join(sandbox.project, 'src/slug.js')
  const written = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const tests = await runInSandbox(process.execPath, ['--test'], sandbox)
  const log = await runInSandbox('git', ['log', '-1', '--format=%s'], sandbox)
  return [
    { what: 'the session completed', ok: session.status === 'completed' },
    { what: 'src/slug.js holds the answer that was given', ok: written.includes(`'${DEMO_ANSWER}'`) },
    { what: 'its tests pass', ok: written !== '' && tests.code === 0 },
    { what: 'the backups outside the project are untouched', ok: existsSync(sandbox.keepsake) },
    { what: 'the work is committed', ok: log.stdout.trim() === DEMO_COMMIT_MESSAGE },
    { what: 'the blocked and the dangerous command were refused', ok: session.tools.denied === 2 },
    { what: 'nobody had to approve the rest', ok: session.tools.human === 0 },
  ]
}
