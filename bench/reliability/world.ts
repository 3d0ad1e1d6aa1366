import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { placesFor } from '../../src/base/places.ts'
import type { SessionView } from '../../src/domain/api.ts'
import { openSimulator, type Simulator } from '../../src/simulator/open.ts'
import { openStore } from '../../src/store/open.ts'
import type { SessionRow } from '../../src/store/tables.ts'
import { agentEnv } from '../../test/support/world.ts'
import { openInstallation, type Ran, run } from '../program.ts'

const GIVE_UP_MS = 600_000

/** A daemon as npm would install it, with the real agent and a scripted model. */
export interface ReliabilityWorld extends AsyncDisposable {
  simulator: Simulator
  pcc(...args: string[]): Promise<Ran>
  project: string
  /** Starts a session in the background, with the flags that say what it does. */
  start(name: string, ...flags: string[]): Promise<void>
  daemonPid(): Promise<number>
  views(): Promise<SessionView[]>
  /** Resolves when every session is there. */
  all(count: number, match: (view: SessionView) => boolean): Promise<void>
  /** The rows as they stand in the store, which tell the processes too. */
  rows(): Promise<SessionRow[]>
}

/** Opens it with these settings; nothing of this machine's own environment is in it. */
export async function openReliabilityWorld(
  scenario: object,
  settings: Record<string, string>,
): Promise<ReliabilityWorld> {
  const installation = await openInstallation(settings)
  const { dir, dist } = installation
  const project = join(dir, 'project')
  mkdirSync(project)
  const simulator = await openSimulator({ text: JSON.stringify(scenario) })
  const env = { ...installation.env, ...agentEnv(join(dir, 'home'), simulator.url) }
  const pcc = (...args: string[]) => run(process.execPath, [dist, ...args], { env, cwd: dir })
  const views = async () => (JSON.parse((await pcc('list', '--json')).stdout) as { sessions: SessionView[] }).sessions
  return {
    simulator,
    project,
    pcc,
    views,
    async start(name, ...flags) {
      await pcc('start', project, ...flags, '--session-name', name, '--detach', '--quiet')
    },
    async daemonPid() {
      const { pid } = JSON.parse((await pcc('daemon', 'status', '--json')).stdout) as { pid?: number }
      if (!pid) throw new Error('pcc daemon status --json told no pid')
      return pid
    },
    all: (count, match) => until(async () => (await views()).filter(match).length >= count),
    async rows() {
      await using store = await openStore({ file: placesFor({ env }).database })
      return await store.sessions.list()
    },
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]()
      await simulator.close()
    },
  }
}

/** Asks again and again; what never comes true is a failure of the measurement. */
export async function until(holds: () => Promise<boolean>, pauseMs = 250): Promise<void> {
  const deadline = Date.now() + GIVE_UP_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('what is to be measured never came about')
    await sleep(pauseMs)
  }
}

/** What of its memory is resident, in megabytes. */
export function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** The kernel counts in hundredths of a second: processor time so far, and when the process began after the boot. */
export function ticksOf(pid: number): { used: number; began: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  return { used: (fields[11] ?? 0) + (fields[12] ?? 0), began: fields[19] ?? 0 }
}
