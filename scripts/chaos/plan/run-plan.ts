import type { FaultPlan } from './plan-round.ts'
import { randomFrom } from './random.ts'
import type { SessionPlan } from './session-plan.ts'

/** The work of a run: each task in its own worktree, verified and merged into the project's branch. */
export interface RunWork extends SessionPlan {
  parallel: number
}

/** Every third round has a run, and so has every round that must reach a step of a run. */
export function planRun(
  seed: number,
  { isNeeded }: { isNeeded: boolean },
): { run: RunWork | undefined; faults: FaultPlan[] } {
  const random = randomFrom(seed ^ 0x2545f491)
  if (!isNeeded && seed % RUN_EVERY !== 0) return { run: undefined, faults: [] }
  const tasks = Array.from({ length: random.int(2, 3) }, (_, task) => {
    const token = `run-t${task + 1}`
    return { token, steps: [{ do: 'write' as const, token: `${token}-c1`, insists: true }] }
  })
  const parallel = random.int(1, 2)
  // Work that is sent back passes the most steps, so rounds that must reach one of them include it.
  const returns = isNeeded || random.chance(0.3)
  const run: RunWork = {
    name: 'run',
    account: 'shared',
    record: false,
    tasks: returns ? tasks.map(comingBack) : tasks,
    parallel,
  }
  const when = () => ({ atMs: random.int(100, 6_000), forMs: random.int(1_000, 5_000), session: 0 })
  const faults: FaultPlan[] = [
    ...(random.chance(0.3) ? [{ ...when(), kind: 'dirty-checkout' as const }] : []),
    ...(random.chance(0.3) ? [{ ...when(), kind: 'remote-gone' as const }] : []),
  ]
  return { run, faults }
}

const RUN_EVERY = 3

/** The same task, with work that is sent back once: it first omits what the gate of the run requires, and then adds it. */
export function comingBack({ token, steps }: RunWork['tasks'][number]): RunWork['tasks'][number] {
  return { token, steps, mends: [{ do: 'write', token: `${token}-c2`, insists: true }] }
}

/**
 * The settings of a run. Its gate wants text in each file, and if work is to be sent back, a second file beside each first one.
 * Without a gate every task would ask a verifier, whose answers no plan has.
 */
export function settingsOf({ tasks }: RunWork): Record<string, string> {
  const wanted = tasks.some(({ mends }) => mends) ? '[ -e "${f%-c1.ts}-c2.ts" ]' : '[ -s "$f" ]'
  return { PCC_GATES_TEST: `for f in src/*-c1.ts; do [ ! -e "$f" ] || ${wanted} || exit 1; done` }
}
