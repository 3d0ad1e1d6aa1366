import * as z from 'zod'
import { Risk } from './session.ts'

/**
 * Why something waits for a person. `permission`, `question`, `review`: a decision. `refused`: a task cannot go on without a request
 * that was refused. `merge`: a merge is held up or was given up. `gate`: the checks cannot run. `login`, `credit`: an account cannot be
 * used. `vendor`: it does not answer. `trust`: settings and gates of a project are not in force. `budget`: one is spent. `error`, `session`: a session does not go
 * on by itself. `run`: a run stands still. `feature`: a phase of a feature did not come to its end. `task`: a failed or cancelled task holds
 * up others.
 */
export const NEED_KINDS = [
  ...(['permission', 'question', 'review', 'refused', 'merge', 'gate', 'login', 'credit', 'vendor'] as const),
  ...(['trust', 'budget', 'error', 'session', 'run', 'feature', 'task'] as const),
] as const
export type NeedKind = (typeof NEED_KINDS)[number]

/** Something that waits for a person. There is one row for each cause. */
export const Need = z.object({
  /** Two rows with the same key are one. */
  key: z.string(),
  kind: z.enum(NEED_KINDS),
  /** What it is, in one line. */
  text: z.string(),
  /** The command to type, or what to do. */
  next: z.string(),
  since: z.number(),
  /** How often it came up, or how many things wait for it. */
  count: z.number(),
  /** Higher comes first. */
  priority: z.number(),
  /** The number by which it is answered. */
  number: z.number().nullable(),
  project: z.string().nullable(),
  session_id: z.string().nullable(),
  task_id: z.string().nullable(),
  /** The title of that task. */
  title: z.string().nullable(),
  /** The risk, if it is a request. */
  risk: Risk.nullable(),
})
export type Need = z.infer<typeof Need>

/** What the person does about it: a command is announced, a sentence speaks for itself. */
export function nextLine({ next }: Pick<Need, 'next'>): string {
  return /^[a-z]/.test(next) ? `Type: ${next}` : next
}

/** What a row about no decision, session or task says of these. */
export const NOTHING_MORE = {
  ...{ count: 1, priority: 0, number: null, project: null, session_id: null, task_id: null, title: null, risk: null },
} as const

/** All that waits for a person, and what was refused because nobody was there. Both in the order in which they are shown everywhere. */
export const Needs = z.object({
  needs: z.array(Need),
  /** Requests that were refused and whose task is not over: the work goes on without them, so nothing waits for an answer. */
  refused: z.array(Need),
})
export type Needs = z.infer<typeof Needs>

/** Rows with the same key as one, the most urgent first, then the oldest. */
export function orderNeeds(rows: readonly Need[]): Need[] {
  const causes = new Map<string, Need>()
  for (const row of rows) {
    const same = causes.get(row.key)
    causes.set(row.key, same ? { ...same, since: Math.min(same.since, row.since), count: same.count + row.count } : row)
  }
  return [...causes.values()].sort(
    (a, b) =>
      b.priority - a.priority || a.since - b.since || (a.number ?? 0) - (b.number ?? 0) || (a.key < b.key ? -1 : 1),
  )
}
