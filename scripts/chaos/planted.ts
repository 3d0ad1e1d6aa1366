import type { PlantedBug } from '../../src/base/planted.ts'
import type { InvariantName, Violation } from './invariants/violation.ts'

/** By which promises a planted bug shows. Whatever else a round finds is not its doing. */
const SHOWS_BY: Record<PlantedBug, readonly InvariantName[]> = {
  'no-fencing': ['one-writer', 'tool-once'],
  'double-resume': ['one-writer', 'tool-once'],
  'lost-outbox': ['told-once'],
  'call-while-gated': ['no-call-while-gated'],
  orphan: ['no-orphan'],
  'double-ending': ['ends-once'],
}

/** The promises by which this bug was caught, as far as it was. */
export function caughtBy(bug: PlantedBug, violations: Violation[]): InvariantName[] {
  return [...new Set(violations.map(({ invariant }) => invariant))].filter(name => SHOWS_BY[bug].includes(name))
}
