import type { History } from '../history.ts'
import { endsOnce } from './ends-once.ts'
import { noCallWhileGated } from './gated.ts'
import { noQuestionLost } from './questions.ts'
import { toldOnce } from './told.ts'
import { toolOnce } from './tool-once.ts'
import type { Invariant, Violation } from './violation.ts'

/** Everything that does not hold of a round. */
export function violationsIn(history: History): Violation[] {
  return ALL.flatMap(invariant => invariant(history))
}

const ALL: Invariant[] = [
  endsOnce,
  toolOnce,
  noCallWhileGated,
  noQuestionLost,
  toldOnce,
  ({ orphans }) => orphans.map(text => ({ invariant: 'no-orphan', text: `left running: ${text}` })),
  ({ doubles }) => doubles.map(text => ({ invariant: 'one-writer', text })),
  ({ integrity }) => integrity.filter(line => line !== 'ok').map(text => ({ invariant: 'store-whole', text })),
  ({ complaints }) => complaints.map(text => ({ invariant: 'no-surprise', text })),
]
