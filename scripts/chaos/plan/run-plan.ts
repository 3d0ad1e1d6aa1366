import { WORKSPACE_CRASH_POINTS } from '../../../src/base/crash-point.ts'
import type { FaultPlan } from './plan-round.ts'
import { randomFrom } from './random.ts'
import type { SessionPlan } from './session-plan.ts'

/** What a run of a round has to do: each task in a worktree of its own, verified and merged into the project's branch. */
export interface RunWork extends SessionPlan {
  parallel: number
}

/**
 * Every third round has a run, from numbers of its own: what a seed meant before there were such rounds it still means. Where the
 * daemon is not told another step to die at, it is told one of a task that works in a worktree; they take turns.
 */
export function planRun(seed: number, others: readonly FaultPlan[]): { run: RunWork | undefined; faults: FaultPlan[] } {
  const random = randomFrom(seed ^ 0x2545f491)
  if (seed % RUN_EVERY !== 0) return { run: undefined, faults: [] }
  const tasks = Array.from({ length: random.int(2, 3) }, (_, task) => {
    const token = `run-t${task + 1}`
    return { token, steps: [{ do: 'write' as const, token: `${token}-c1`, insists: true }] }
  })
  const parallel = random.int(1, 2)
  const isTold = others.some(({ kind }) => kind === 'crash-point')
  const name = WORKSPACE_CRASH_POINTS[Math.floor(seed / RUN_EVERY) % WORKSPACE_CRASH_POINTS.length]
  const returns = random.chance(0.3) || (!isTold && name === 'landing.before-return')
  const run: RunWork = {
    name: 'run',
    account: 'shared',
    record: false,
    tasks: returns ? tasks.map(comingBack) : tasks,
    parallel,
  }
  if (isTold || name === undefined) return { run, faults: [] }
  return { run, faults: [{ kind: 'crash-point', atMs: 100, forMs: 0, session: 0, point: { name, nth: 1 } }] }
}

const RUN_EVERY = 3

/** The same task, whose work is sent back once: it leaves out what the gate of the run wants, and adds it when it is told. */
export function comingBack({ token, steps }: RunWork['tasks'][number]): RunWork['tasks'][number] {
  return { token, steps, mends: [{ do: 'write', token: `${token}-c2`, insists: true }] }
}

/** The settings of a run: one whose work is to come back has a gate that wants a second file beside each first one. */
export function settingsOf({ tasks }: RunWork): Record<string, string> {
  if (!tasks.some(({ mends }) => mends)) return {}
  const each = 'for f in src/*-c1.ts; do [ ! -e "$f" ] || [ -e "${f%-c1.ts}-c2.ts" ] || exit 1; done'
  return { PCC_GATES_TEST: each }
}
