import type { Random } from './random.ts'

/** One answer of the scripted model. */
export type StepPlan =
  /** A tool that logs its token outside of the program each time it is executed, and may leave a process running. */
  | { do: 'work'; token: string; ms: number; leaves: boolean; trouble?: Trouble | undefined }
  | { do: 'write'; token: string; trouble?: Trouble | undefined; insists?: boolean | undefined }
  | { do: 'ask'; token: string }
  /** The vendor refuses until a near reset; `seconds` if the usual few are too short to notice something. */
  | { do: 'limit'; token: string; seconds?: number | undefined }
  /** The vendor is down for as long as a session retries by itself. */
  | { do: 'outage'; token: string }
  /** The vendor refuses the login until the person has renewed it. */
  | { do: 'login'; token: string }

export interface Trouble {
  kind: 'rate_limit' | 'overloaded' | 'server_error' | 'reset' | 'stall' | 'cut_stream'
  times: number
}

export interface SessionPlan {
  /** `s1`, `s2` … */
  name: string
  /** A session that meets a limit has its own account, or shares it with another one. */
  account: 'shared' | 'limited'
  /** Whether the messages of its agent are recorded to a file. */
  record: boolean
  tasks: {
    token: string
    steps: StepPlan[]
    /** The steps after its work was sent back by the gate of a run. */
    mends?: StepPlan[] | undefined
    /** The steps of a second agent that takes over when the vendor of the first refuses. */
    second?: Extract<StepPlan, { do: 'work' }>[] | undefined
  }[]
}

export interface Mood {
  limited: boolean
  small: boolean
  stormy: boolean
  /** Whether it asks a question, and whether it has more than one task, because a step needs that. */
  asks: boolean
  queues: boolean
}

const TROUBLES = ['rate_limit', 'overloaded', 'server_error', 'reset', 'stall', 'cut_stream'] as const

/** Plans the work of one session. */
export function planSession(place: number, random: Random, mood: Mood): SessionPlan {
  const name = `s${place + 1}`
  const wanted = mood.small ? 1 : random.pick([1, 1, 2, 3])
  const count = mood.queues ? Math.max(2, wanted) : wanted
  const tasks = Array.from({ length: count }, (_, task) => planTask(`${name}-t${task + 1}`, random, mood))
  if (mood.limited) tasks[0]?.steps.splice(1, 0, { do: 'limit', token: `${name}-t1-limit` })
  if (mood.asks) tasks[0]?.steps.push({ do: 'ask', token: `${name}-t1-asked` })
  const account = mood.limited || random.chance(0.1) ? 'limited' : 'shared'
  return { name, account, record: random.chance(0.2), tasks }
}

function planTask(token: string, random: Random, mood: Mood): SessionPlan['tasks'][number] {
  const count = mood.small ? 1 : random.int(1, 3)
  return { token, steps: Array.from({ length: count }, (_, step) => planStep(`${token}-c${step + 1}`, random, mood)) }
}

function planStep(token: string, random: Random, mood: Mood): StepPlan {
  const trouble = mood.stormy && random.chance(0.4) ? { trouble: planTrouble(random) } : {}
  const kind = random.next()
  if (kind < 0.2 && !mood.small) return { do: 'ask', token }
  if (kind < 0.4) return { do: 'write', token, ...trouble }
  return { do: 'work', token, ms: random.int(50, 700), leaves: random.chance(0.3), ...trouble }
}

/** A second plain 429 in a row rightly closes the account for a minute; the others may come any number of times. */
function planTrouble(random: Random): Trouble {
  const kind = random.pick(TROUBLES)
  return { kind, times: kind === 'rate_limit' ? 1 : random.int(1, 3) }
}
