import { placesFor } from '../../base/places.ts'
import { isAlive, startTimeOf } from '../../base/process/start-time.ts'
import type { SessionView } from '../../domain/api.ts'
import { openSimulator } from '../../simulator/open.ts'
import { type Client, openClient } from '../client.ts'
import { stopDaemon } from '../connection/stop-daemon.ts'
import type { Context } from '../context.ts'
import { closingLines } from '../live/closing.ts'
import { openScreen } from '../live/screen.ts'
import { watchSession } from '../live/watch.ts'
import { startHeader } from '../render/header.ts'
import { type Check, checkWorld } from './checks.ts'
import { DEMO_SCENARIO, DEMO_TASK } from './scenario.ts'
import { scriptedPerson } from './scripted-person.ts'
import { agentVariables, type DemoWorld, makeWorld } from './world.ts'

/** Nothing in the demo takes this long unless it hangs. */
const LIMIT_MS = 120_000
const STOP_MS = 15_000

/**
 * The demo: the real daemon and the real Claude Code on a small job, with a scripted model on loopback and a scripted
 * person at the terminal. It leaves nothing behind, whatever happens. Returns the exit code: 0 if the world is as it should be.
 */
export async function runDemo(context: Context): Promise<number> {
  const interrupted = new AbortController()
  const onSignal = () => interrupted.abort()
  for (const signal of SIGNALS) process.once(signal, onSignal)
  process.stdout.on('error', onSignal)
  try {
    using world = makeWorld(context.env)
    await using simulator = await openSimulator({ text: DEMO_SCENARIO })
    await using daemon = await startDaemonIn(world)
    const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(LIMIT_MS)])
    const env = { ...world.env, ...agentVariables(simulator.url) }
    const session = await showSession({ world, client: daemon.client, env, context, signal })
    if (!session) return interrupted.signal.aborted ? 130 : fail(context, 'The demo did not end in time.')
    return report(checkWorld(world, session), context)
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    process.stdout.off('error', onSignal)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface Show {
  world: DemoWorld
  client: Client
  env: Record<string, string>
  context: Context
  signal: AbortSignal
}

async function showSession({ world, client, env, context, signal }: Show): Promise<SessionView | undefined> {
  const { terminal, json, out, verbose } = context
  const screen = openScreen(process.stdout)
  const request = { project: world.project, task: DEMO_TASK, name: 'demo', env }
  const session = await client.request<SessionView>('POST', '/sessions', request)
  if (!json) screen.print([...intro(context), ...startHeader(session, { terminal, cwd: world.root, home: undefined })])
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
  const over = await client.request<SessionView>('GET', `/sessions/${session.id}`)
  if (!json) screen.print(await closingLines(client, over, { id: over.id, terminal }))
  return over
}

function intro({ terminal }: Context): string[] {
  return [
    'The real Claude Code, supervised, in a temporary git project. Its model is a script on 127.0.0.1:',
    'no account, no network, no cost (the prices shown are what the tokens would have cost).',
    terminal.paint('dim', `Task: ${DEMO_TASK}`),
    '',
  ]
}

function report(checks: Check[], { json, terminal, out }: Context): number {
  const ok = checks.every(check => check.ok)
  if (json) out(JSON.stringify({ demo: { ok, checks } }))
  else {
    out('')
    out('Looked at afterwards:')
    for (const check of checks)
      out(`  ${check.ok ? terminal.paint('green', '✓') : terminal.paint('red', '✗')} ${check.what}`)
  }
  return ok ? 0 : 1
}

function fail({ note }: Context, words: string): number {
  note(words)
  return 1
}

/** The daemon of this world. Disposed of, it has ended, with every agent. */
async function startDaemonIn(world: DemoWorld): Promise<AsyncDisposable & { client: Client }> {
  const places = placesFor({ env: world.env })
  const client = await openClient(places, { env: world.env })
  const { pid } = client.health
  const startTime = (await startTimeOf(pid)) ?? ''
  return {
    client,
    async [Symbol.asyncDispose]() {
      const gone = await stopDaemon(client, places, { timeoutMs: STOP_MS }).catch(() => false)
      // It hangs, or did not answer; its agents end with it, their guardians see to that.
      if (!gone && (await isAlive({ pid, startTime }))) process.kill(pid, 'SIGKILL')
    },
  }
}
