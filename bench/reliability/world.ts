import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { readLockHolder } from '../../src/daemon/lock.ts'
import type { SessionView } from '../../src/domain/api.ts'
import { openSimulator, type Simulator } from '../../src/simulator/open.ts'
import { agentEnv } from '../../test/support/world.ts'
import { openInstallation, type Ran, run } from '../program.ts'

const GIVE_UP_MS = 600_000

export interface Agent {
  pid: number
  startTime: string
}

/** A daemon as npm would install it, with the real agent and a scripted model. */
export interface ReliabilityWorld extends AsyncDisposable {
  simulator: Simulator
  pcc(...args: string[]): Promise<Ran>
  project: string
  /** Starts a session in the background with these flags. */
  start(name: string, ...flags: string[]): Promise<void>
  daemonPid(): Promise<number>
  /** The pid of the holder of the daemon's lock, read from the file; the lock is taken before anything else. */
  lockPid(): number | undefined
  views(): Promise<SessionView[]>
  /** Resolves when every session exists. */
  all(count: number, match: (view: SessionView) => boolean): Promise<void>
  /** The processes of all agents, read directly from the store because the daemon is busy. */
  agents(): Agent[]
}

/** Opens it with these settings and without this machine's environment. */
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
    lockPid: () => readLockHolder(appPathsFor({ env }))?.pid,
    all: (count, match) => until(async () => (await views()).filter(match).length >= count),
    agents() {
      const db = new DatabaseSync(appPathsFor({ env }).database, { readOnly: true, timeout: 5_000 })
      try {
        const agents = db.prepare('select agent_pid as pid, agent_started as startTime from sessions')
        return (agents.all() as unknown as Agent[]).filter(({ pid, startTime }) => pid !== null && startTime !== null)
      } finally {
        db.close()
      }
    },
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]()
      await simulator.close()
    },
  }
}

/** Polls until a condition is true; if it never is, the measurement fails. */
export async function until(holds: () => Promise<boolean>, pauseMs = 250): Promise<void> {
  const deadline = Date.now() + GIVE_UP_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('what is to be measured never came about')
    await sleep(pauseMs)
  }
}

/** The resident memory in megabytes. */
export function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** How long the main thread of a process has run on a core, and how long it waited for one, in seconds. */
export function turnsOf(pid: number): { ran: number; waited: number } {
  const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ').map(Number)
  return { ran: ran / 1e9, waited: waited / 1e9 }
}

/** In hundredths of a second, as the kernel counts: processor time so far, and the start of the process since boot. */
export function ticksOf(pid: number): { used: number; began: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  return { used: (fields[11] ?? 0) + (fields[12] ?? 0), began: fields[19] ?? 0 }
}
