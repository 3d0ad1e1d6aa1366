import { type DiffRequest, diffFindings } from '../diff/diff-findings.ts'
import { type Seen, seen, statusBy } from './seen.ts'

/** What the changes themselves tell; undefined where nobody knows what they began with. */
export async function diffGate(request: DiffRequest | undefined): Promise<Seen> {
  if (!request)
    return seen({ gate: 'diff', kind: 'diff', status: 'skipped', output: 'Nobody knows what the work began with.' })
  const began = performance.now()
  const findings = await diffFindings(request)
  const duration_ms = Math.round(performance.now() - began)
  return seen({ gate: 'diff', kind: 'diff', status: statusBy(findings), findings, duration_ms })
}
