import type { CrashPointName } from '../../../src/base/crash-point.ts'
import type { FaultPlan, RoundPlan } from './plan-round.ts'
import { isOfRecovery, isOfWorkspace } from './points.ts'
import { comingBack } from './run-plan.ts'
import type { SessionPlan } from './session-plan.ts'

/** A short round for one step, with just what a daemon needs to reach it. */
export function planPointRound(seed: number, name: CrashPointName): RoundPlan {
  const when = { atMs: 0, forMs: 0, session: 0 }
  const faults: FaultPlan[] = [{ ...when, kind: 'crash-point', point: { name, nth: 1 } }]
  // Only a daemon that takes over from a killed one reaches the steps of recovery.
  if (isOfRecovery(name)) faults.push({ ...when, atMs: 2_500, forMs: 300, kind: 'kill-daemon' })
  if (!isOfWorkspace(name)) return { seed, sessions: EVERYTHING, faults }
  // While one works, the next has a slot already: only the third works in the slot of an earlier one.
  const isOfSlot = name.startsWith('slot.')
  const tasks = ['run-t1', 'run-t2', ...(isOfSlot ? ['run-t3'] : [])].map(token =>
    comingBack({ token, steps: [{ do: 'write', token: `${token}-c1`, insists: true }] }),
  )
  return {
    seed,
    sessions: [],
    faults,
    run: { name: 'run', account: 'shared', record: false, tasks, parallel: isOfSlot ? 1 : 2 },
  }
}

const work = (token: string) => ({ do: 'work' as const, token: `${token}-c1`, ms: 300, leaves: true })

/** One of everything: a queue, a question, a file and a limit. */
const EVERYTHING: SessionPlan[] = [
  {
    name: 's1',
    account: 'shared',
    record: false,
    tasks: [
      { token: 's1-t1', steps: [work('s1-t1')] },
      {
        token: 's1-t2',
        steps: [
          { do: 'ask', token: 's1-t2-c1' },
          { do: 'write', token: 's1-t2-c2' },
        ],
      },
    ],
  },
  {
    name: 's2',
    account: 'limited',
    record: true,
    tasks: [
      { token: 's2-t1', steps: [work('s2-t1')] },
      { token: 's2-t2', steps: [{ do: 'limit', token: 's2-t2-limit' }] },
    ],
  },
]
