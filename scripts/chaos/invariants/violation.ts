import type { History } from '../history.ts'

/** What must hold after every round. */
export const INVARIANTS = {
  'ends-once': 'every task ends exactly once',
  'tool-once': 'no tool call is executed twice, unless it was in flight',
  'no-work-lost': 'every planned tool ran, every planned question was answered',
  'no-orphan': 'no process outlives the daemon',
  'no-call-while-gated': 'no model call while the account is gated',
  'no-question-lost': 'every question is answered',
  'one-writer': 'never two processes on one conversation',
  'store-whole': 'the store passes its integrity check',
  'told-once': 'everything worth telling arrived, once',
  'merged-once':
    'no commit is lost, every merged task lands once, the checkout is as its branch says, no branch or worktree of a finished task is left',
  'no-surprise': 'nothing else went wrong',
} as const

export type InvariantName = keyof typeof INVARIANTS

export interface Violation {
  invariant: InvariantName
  text: string
}

/** Checks one invariant. */
export type Invariant = (history: History) => Violation[]
