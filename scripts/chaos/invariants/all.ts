import { PROMISED_MS } from '../fixture/outliving.ts'
import type { History } from '../history.ts'
import { endsOnce } from './ends-once.ts'
import { noServerError } from './errors.ts'
import { noCallWhileGated } from './gated.ts'
import { mergedOnce } from './merged-once.ts'
import { noQuestionLost } from './questions.ts'
import { toldOnce } from './told.ts'
import { toolOnce } from './tool-once.ts'
import type { Invariant, Violation } from './violation.ts'
import { noWorkLost } from './work.ts'

/** All violations of a round. */
export function violationsIn(history: History): Violation[] {
  return ALL.flatMap(invariant => invariant(history))
}

function outlivedTooLong({ outlived }: History): Violation[] {
  const late = outlived.filter(({ ms, toleranceMs }) => ms > PROMISED_MS + toleranceMs)
  return late.map(({ ms, toleranceMs }) => ({
    invariant: 'no-orphan',
    text: `a daemon that died was outlived by ${ms} ms; ${PROMISED_MS} are promised, and ${toleranceMs} were let pass`,
  }))
}

const ALL: Invariant[] = [
  endsOnce,
  toolOnce,
  noWorkLost,
  noCallWhileGated,
  noQuestionLost,
  toldOnce,
  mergedOnce,
  noServerError,
  ({ orphans }) => orphans.map(text => ({ invariant: 'no-orphan', text: `left running: ${text}` })),
  outlivedTooLong,
  ({ doubles }) => doubles.map(text => ({ invariant: 'one-writer', text })),
  ({ integrity }) => integrity.filter(line => line !== 'ok').map(text => ({ invariant: 'store-whole', text })),
  ({ complaints }) => complaints.map(text => ({ invariant: 'no-surprise', text })),
]
