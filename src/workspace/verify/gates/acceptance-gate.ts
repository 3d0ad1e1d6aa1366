import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { Criterion } from './criteria.ts'
import { type Seen, seen, statusBy } from './seen.ts'

/** What became of each acceptance criterion. One that nothing speaks for is told; it does not stand in the way by itself. */
export function acceptanceGate(criteria: readonly Criterion[]): Seen {
  if (criteria.length === 0)
    return seen({ ...NAMED, status: 'skipped', output: 'The task has no acceptance criteria.' })
  const findings = criteria.map(findingOf)
  const output = criteria.map(
    ({ text, status, evidence }) => `${status}: ${text}${evidence === '' ? '' : ` [${evidence}]`}`,
  )
  return seen({ ...NAMED, status: statusBy(findings), findings, output: output.join('\n') })
}

const NAMED = { gate: 'acceptance', kind: 'acceptance' } as const

function findingOf({ text, status, evidence }: Criterion): Finding {
  switch (status) {
    case 'met':
      return { code: 'acceptance.met', weight: 'note', text: `Met: ${text} (${evidence})` }
    case 'unmet':
      return { code: 'acceptance.unmet', weight: 'block', text: `Not met: ${text} (${evidence})` }
    case 'unproven':
      return {
        code: 'acceptance.unproven',
        weight: 'note',
        text: `Nothing that was run speaks for or against it: ${text}`,
      }
  }
}
