import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../../src/base/process/process-table.ts'
import type { BenchRow } from '../row.ts'
import { openReliabilityWorld, residentMb, ticksOf, turnsOf, until } from './world.ts'

const SESSIONS = 20
/** How long the guardians of a dead daemon have to end its processes. */
const GONE_MS = 2_000

/** Each session is in a call that the model never answers, before and after the restart. */
const SCENARIO = {
  conversations: [
    { match: 'part', turns: [{ text: 'Late.', latency: 3_600_000 }], otherwise: { text: 'Late.', latency: 3_600_000 } },
  ],
}

/** Twenty live sessions: what each costs the supervisor, and how soon all resume after the daemon was killed. */
export async function benchRestart(): Promise<BenchRow[]> {
  const real = await restart({})
  using late = lateAgent()
  const aside = await restart({ PCC_AGENTS_PATH: late.path })
  const what = `restart after kill -9 with ${SESSIONS} live sessions, from the start of the process to the start of the last agent`
  return [
    {
      what: `${what}, the agents' own start-up aside`,
      measured: told(aside),
      budget: '≤ 5 s',
      ok: aside.last <= 5,
    },
    {
      what: `${what}, beside ${SESSIONS} agents that start up`,
      measured: `${told(real)}, on ${availableParallelism()} cores`,
      budget: '≤ 5 s',
      ok: real.last <= 5,
    },
    {
      what: `of ${SESSIONS} conversations, taken up again by one agent each`,
      measured: `${real.again} calls`,
      budget: String(SESSIONS),
      ok: real.again === SESSIONS,
    },
    {
      what: `agents of a killed daemon that live ${GONE_MS / 1000} s later, of ${SESSIONS}`,
      measured: String(real.left),
      budget: '0',
      ok: real.left === 0,
    },
    {
      what: 'supervisor memory for each live session',
      measured: `${real.eachMb.toFixed(1)} MB (${real.withOneMb.toFixed(0)} MB with one)`,
      budget: '≤ 3 MB',
      ok: real.eachMb <= 3,
    },
  ]
}

interface Restarted {
  /** Seconds from the start of the new daemon to the start of its first and of its last agent. */
  first: number
  last: number
  /** For the daemon's main thread until then: seconds on a core, and waiting for one. */
  ran: number
  waited: number
  again: number
  left: number
  eachMb: number
  withOneMb: number
}

async function restart(settings: Record<string, string>): Promise<Restarted> {
  await using world = await openReliabilityWorld(SCENARIO, {
    PCC_SESSIONS_MAX_CONCURRENT: String(SESSIONS),
    ...settings,
  })
  await world.start('part-1', '--task', 'Please do part 1')
  await until(async () => world.simulator.requests.length >= 1)
  const killed = await world.daemonPid()
  await sleep(3_000)
  const withOneMb = residentMb(killed)
  for (let n = 2; n <= SESSIONS; n += 1) await world.start(`part-${n}`, '--task', `Please do part ${n}`)
  await until(async () => world.simulator.requests.length >= SESSIONS)
  await sleep(3_000)
  const eachMb = (residentMb(killed) - withOneMb) / (SESSIONS - 1)

  const before = world.agents()
  if (before.length !== SESSIONS) throw new Error(`${before.length} agents ran, not ${SESSIONS}`)
  process.kill(killed, 'SIGKILL')
  await sleep(GONE_MS)
  const left = (await Promise.all(before.map(isAlive))).filter(Boolean).length
  const old = new Set(before.map(({ startTime }) => startTime))
  await until(async () => ![killed, undefined].includes(world.lockPid()), 50)
  const pid = world.lockPid() ?? 0
  const started = () => world.agents().filter(({ startTime }) => !old.has(startTime))
  await until(async () => started().length === SESSIONS, 50)
  const { ran, waited } = turnsOf(pid)
  const daemon = ticksOf(pid).began
  const seconds = started().map(({ startTime }) => (Number(startTime.split(':').at(-1)) - daemon) / 100)
  await until(async () => world.simulator.requests.length >= 2 * SESSIONS)
  const again = world.simulator.requests.length - SESSIONS
  return { first: Math.min(...seconds), last: Math.max(...seconds), ran, waited, again, left, eachMb, withOneMb }
}

/** The real agent, started so late that its start-up does not slow the measured daemon. */
function lateAgent(): Disposable & { path: string } {
  const claude = createRequire(import.meta.url).resolve(
    `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
  )
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-agent-'))
  const path = join(dir, 'claude')
  writeFileSync(path, `#!/bin/sh\nsleep 8\nexec '${claude}' "$@"\n`, { mode: 0o755 })
  return { path, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) }
}

/** We can reduce our own work; the time waiting for a core depends on the machine. */
function told({ first, last, ran, waited }: Restarted): string {
  const split = `the daemon was on a core for ${ran.toFixed(1)} s and stood in line for one for ${waited.toFixed(1)} s`
  return `${last.toFixed(1)} s (the first after ${first.toFixed(1)} s; ${split})`
}
