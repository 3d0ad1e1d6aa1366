import { setTimeout as sleep } from 'node:timers/promises'
import type { DaemonRunner } from '../fixture/daemon-runner.ts'
import type { RoundFixture } from '../fixture/open-fixture.ts'
import { toleranceMs } from '../fixture/outliving.ts'
import { agentsOf, type SeenProcess, toolsOf } from '../fixture/processes.ts'
import type { Injected } from '../history.ts'
import type { FaultKind } from '../plan/fault-kinds.ts'
import type { FaultPlan } from '../plan/plan-round.ts'
import type { SessionPlan } from '../plan/session-plan.ts'
import { checkpointsOf, cutCheckpoints, damageLogs, fillDisk, loseTranscript, transcriptsOf } from './damage.ts'
import { dirtyCheckout, loseLogin, loseRemote } from './surroundings.ts'

export interface Injection {
  fixture: RoundFixture
  runner: DaemonRunner
  /** The affected session; a round may have only a run. */
  session: SessionPlan | undefined
  run: SessionPlan | undefined
  /** Uncommitted changes of a person that were lost. */
  overwritten: string[]
  /** Shifts the clock of daemon and agents. */
  moveClock: ((byMs: number) => void) | undefined
}

/** How long to wait for a target: a tool runs only for moments, and an agent takes longer to start on a busy machine. */
const patienceMs = () => 2_500 + 2 * toleranceMs()

/** Whether it hit something, or what it hit. */
type Act = (fault: FaultPlan, injection: Injection) => Promise<boolean | string>

/** Faults that last while others happen. */
export const LASTING: ReadonlySet<FaultKind> = new Set(['login-gone', 'dirty-checkout', 'remote-gone'])

/** Injects a fault, and reports whether there was anything to hit. */
export async function inject(fault: FaultPlan, injection: Injection): Promise<Injected> {
  const at = Date.now()
  const hit = await ACTS[fault.kind](fault, injection)
  const tool = typeof hit === 'string' ? hit : undefined
  return {
    kind: fault.kind,
    at,
    until: Date.now(),
    session: injection.session?.name,
    step: fault.point?.name,
    tool,
    hit: hit !== false,
  }
}

/** Kills the daemon when there is something to damage, or after a maximum wait. */
const killed = (
  damage: (injection: Injection) => boolean,
  there: (injection: Injection) => unknown[] = () => [true],
): Act => {
  return async (_, injection) => {
    const end = Date.now() + 3 * patienceMs()
    while (there(injection).length === 0 && Date.now() < end) await sleep(30)
    let hit = false
    await injection.runner.whileDown(() => {
      hit = damage(injection)
    })
    return hit
  }
}

const ACTS: Record<FaultKind, Act> = {
  // The daemon was started with the crash point; whether it reached it is known when it is gone.
  'crash-point': async () => false,
  // These are in the scenario; the effect of a refusal is known at the end.
  'vendor-storm': async () => true,
  failover: async () => false,
  'kill-daemon': async ({ forMs }, { runner }) => {
    const { alive } = runner
    // Every other time the next daemon starts only after the guardians have finished by themselves.
    await runner.whileDown(async () => {
      if (forMs % 2 === 0) await runner.allGone()
    })
    return alive
  },
  'stop-clean': async (_, { runner }) => {
    if (!runner.alive) return false
    await runner.kill('SIGTERM')
    return true
  },
  'kill-agent': async (_, { fixture, session }) =>
    session !== undefined && hitOne(() => agentsOf(fixture.projectOf(session)), 'SIGKILL'),
  'kill-tool': async (_, { fixture }) => {
    const tool = await find(() => toolsOf(fixture.folder))
    return tool !== undefined && signal(tool.pid, 'SIGKILL') && (tool.command.split(' ')[2] ?? true)
  },
  'stop-agent': async ({ forMs }, { fixture }) => {
    const agent = await find(() => agentsOf(fixture.folder))
    if (!agent) return false
    signal(agent.pid, 'SIGSTOP')
    await sleep(forMs)
    signal(agent.pid, 'SIGCONT')
    return true
  },
  'stop-agent-for-good': async ({ forMs }, { fixture, runner }) => {
    const agent = await find(() => agentsOf(fixture.folder))
    if (!agent) return false
    signal(agent.pid, 'SIGSTOP')
    await sleep(forMs)
    await runner.kill('SIGKILL')
    return true
  },
  'stop-daemon': async ({ forMs }, { runner }) => {
    const { pid } = runner
    if (pid === undefined) return false
    signal(pid, 'SIGSTOP')
    await sleep(forMs)
    // A daemon that does not wake up is killed by the caller that needs it.
    if (forMs % 3 === 0) await runner.kill('SIGKILL')
    else signal(pid, 'SIGCONT')
    return true
  },
  'disk-full': ({ forMs }, { fixture }) => fillDisk(fixture, forMs),
  'clock-jump': async ({ forMs, session }, { moveClock }) => {
    moveClock?.((session % 2 === 0 ? 1 : -1) * forMs * 3_600)
    return moveClock !== undefined
  },
  'damaged-log': killed(({ fixture }) => damageLogs(fixture)),
  'cut-checkpoint': killed(
    ({ fixture }) => cutCheckpoints(fixture),
    ({ fixture }) => checkpointsOf(fixture),
  ),
  'lost-transcript': killed(
    ({ fixture, session }) => session !== undefined && loseTranscript(fixture, session),
    ({ fixture, session }) => (session ? transcriptsOf(fixture, session) : [true]),
  ),
  'two-daemons': async (_, { runner }) => {
    await runner.replaceByTwo()
    return true
  },
  // The daemon then continues alone, and the next caller that needs one starts it under a new parent.
  'kill-parent': async ({ forMs }, { runner }) => runner.killParent(forMs % 2 === 0),
  'login-gone': ({ forMs }, { fixture }) => loseLogin(fixture, forMs),
  'dirty-checkout': async ({ forMs }, { fixture, run, overwritten }) => {
    if (!run) return false
    const lost = await dirtyCheckout(fixture.projectOf(run), forMs)
    if (lost !== undefined) overwritten.push(lost)
    return true
  },
  'remote-gone': ({ forMs }, { fixture }) => loseRemote(fixture.folder, forMs),
}

async function hitOne(look: () => SeenProcess[], how: NodeJS.Signals): Promise<boolean> {
  const found = await find(look)
  return found !== undefined && signal(found.pid, how)
}

async function find(look: () => SeenProcess[]): Promise<SeenProcess | undefined> {
  const end = Date.now() + patienceMs()
  for (;;) {
    const [found] = look()
    if (found || Date.now() > end) return found
    await sleep(30)
  }
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false // it has just ended by itself
  }
}
