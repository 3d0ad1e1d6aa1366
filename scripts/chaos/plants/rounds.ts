import type { CrashPointName } from '../../../src/base/crash-point.ts'
import type { FaultKind } from '../plan/fault-kinds.ts'
import type { FaultPlan, RoundPlan } from '../plan/plan-round.ts'
import { randomFrom } from '../plan/random.ts'
import { comingBack } from '../plan/run-plan.ts'
import type { SessionPlan, StepPlan } from '../plan/session-plan.ts'

// Small rounds, each with just what one sort of mistake needs to show: an ordinary round has several times the sessions and
// takes several times as long. Seeds differ only in when things happen.

type Round = (seed: number) => RoundPlan

/** Two sessions, one with a second task, and no faults. */
export const quiet: Round = seed => ({ seed, sessions: atWork(seed), faults: [] })

/** The same with these faults in the middle. */
export function with_(...kinds: FaultKind[]): Round {
  return seed => ({ seed, sessions: atWork(seed), faults: kinds.map(kind => faultOf(kind, seed)) })
}

/** The same with a daemon that dies at this step. */
export function diesAt(name: CrashPointName, nth = 1): Round {
  return seed => ({ seed, sessions: atWork(seed), faults: [dies(name, nth)] })
}

/** One session that asks and continues; the daemon may die at one of these steps, or be restarted while the question is open. */
export function asking(name?: CrashPointName, answers?: RoundPlan['answers']): Round {
  return seed => ({
    seed,
    ...(answers && { answers }),
    sessions: [session('s1', [[work('s1-t1-c1', 100), ask('s1-t1-c2'), work('s1-t1-c3', 100)]])],
    faults: name ? [dies(name, 1)] : [],
  })
}

/** One session meets a limit while another of the same account works. It lasts long enough for an agent that starts too early to make a call. */
export const limited: Round = seed => {
  const ms = randomFrom(seed).int(300, 900)
  const steps = Array.from({ length: 5 }, (_, step) => work(`s2-t1-c${step + 1}`, ms))
  return {
    seed,
    sessions: [
      { ...session('s1', [[work('s1-t1-c1', 700), limit('s1-t1-limit'), work('s1-t1-c2', 100)]]), account: 'limited' },
      { ...session('s2', [steps]), account: 'limited' },
    ],
    faults: [],
  }
}

/** Two tasks in worktrees; the daemon may die at a step of their merge, and their work may be sent back. */
export function running(name?: CrashPointName, { returns = false } = {}): Round {
  return seed => {
    const tasks = ['run-t1', 'run-t2'].map(token => ({
      token,
      steps: [{ do: 'write' as const, token: `${token}-c1`, insists: true }],
    }))
    return {
      seed,
      sessions: [],
      run: {
        name: 'run',
        account: 'shared',
        record: false,
        tasks: returns ? tasks.map(comingBack) : tasks,
        parallel: 1 + (seed % 2),
      },
      faults: name ? [dies(name, 1)] : [],
    }
  }
}

/** Two tasks of a run while a person has uncommitted changes in the checkout. */
export const besideAPerson: Round = seed => ({
  ...running()(seed),
  faults: [{ kind: 'dirty-checkout', atMs: 100, forMs: 40_000, session: 0 }],
})

/** The vendor refuses the login of a session in the middle of its task, until the person has logged in again. */
export const loggedOut: Round = seed => ({
  seed,
  sessions: [session('s1', [[work('s1-t1-c1', 100), { do: 'login', token: 's1-t1-login' }, work('s1-t1-c2', 100)]])],
  faults: [{ kind: 'login-gone', atMs: 0, forMs: randomFrom(seed).int(500, 1_500), session: 0 }],
})

/** The vendor of the first agent refuses, and a second agent takes over the task. */
export const takenOver: Round = seed => {
  const task = { token: 's1-t1', steps: [work('s1-t1-c1', 100), limit('s1-t1-limit'), work('s1-t1-c2', 100)] }
  const second = ['s1-t1-f1', 's1-t1-f2'].map(token => ({ do: 'work' as const, token, ms: 200, leaves: false }))
  return {
    seed,
    sessions: [{ name: 's1', account: 'limited', record: false, tasks: [{ ...task, second }] }],
    faults: [{ kind: 'failover', atMs: 0, forMs: 0, session: 0 }],
  }
}

function atWork(seed: number): SessionPlan[] {
  const random = randomFrom(seed)
  const steps = (task: string) =>
    Array.from({ length: 3 }, (_, step) => work(`${task}-c${step + 1}`, random.int(200, 800), step === 0))
  return [session('s1', [steps('s1-t1'), steps('s1-t2')]), session('s2', [steps('s2-t1')])]
}

function session(name: string, tasks: StepPlan[][]): SessionPlan {
  const named = tasks.map((steps, task) => ({ token: `${name}-t${task + 1}`, steps }))
  return { name, account: 'shared', record: false, tasks: named }
}

function work(token: string, ms: number, leaves = false): StepPlan {
  return { do: 'work', token, ms, leaves }
}

function ask(token: string): StepPlan {
  return { do: 'ask', token }
}

function limit(token: string): StepPlan {
  return { do: 'limit', token, seconds: 25 }
}

function dies(name: CrashPointName, nth: number): FaultPlan {
  return { kind: 'crash-point', atMs: 0, forMs: 0, session: 0, point: { name, nth } }
}

/** The fault comes late enough for a busy machine to have started some work. */
function faultOf(kind: FaultKind, seed: number): FaultPlan {
  const random = randomFrom(seed)
  return { kind, atMs: random.int(1_500, 4_500), forMs: 2 * random.int(150, 500), session: random.int(0, 1) }
}
