import type { History } from '../history.ts'
import { PROMISED_MS } from '../world/outliving.ts'
import { endsOnce } from './ends-once.ts'
import { noCallWhileGated } from './gated.ts'
import { mergedOnce } from './merged-once.ts'
import { noQuestionLost } from './questions.ts'
import { toldOnce } from './told.ts'
import { toolOnce } from './tool-once.ts'
import type { Invariant, Violation } from './violation.ts'

/** Everything that does not hold of a round. */
export function violationsIn(history: History): Violation[] {
  return ALL.flatMap(invariant => invariant(history))
}

function outlivedTooLong({ outlived: { ms, toleranceMs } }: History): Violation[] {
  const late = ms.filter(each => each > PROMISED_MS + toleranceMs)
  return late.map(each => ({
    invariant: 'no-orphan',
    text: `a killed daemon was outlived by ${each} ms; ${PROMISED_MS} are promised, and ${toleranceMs} were let pass`,
  }))
}

const ALL: Invariant[] = [
  endsOnce,
  toolOnce,
  noCallWhileGated,
  noQuestionLost,
  toldOnce,
  mergedOnce,
  ({ orphans }) => orphans.map(text => ({ invariant: 'no-orphan', text: `left running: ${text}` })),
  outlivedTooLong,
  ({ doubles }) => doubles.map(text => ({ invariant: 'one-writer', text })),
  ({ integrity }) => integrity.filter(line => line !== 'ok').map(text => ({ invariant: 'store-whole', text })),
  ({ complaints }) => complaints.map(text => ({ invariant: 'no-surprise', text })),
]
