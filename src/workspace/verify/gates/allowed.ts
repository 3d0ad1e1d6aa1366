import type { Finding } from '../../../domain/workspace/evidence.ts'
import { type Seen, statusBy } from './seen.ts'

/** Findings that a person may let pass by `gates.allow`, beside those of the diff. What fails cannot be let pass by a name. */
const MAY_PASS =
  /^(diff\.ignored|git\.shared|git\.target|gate\.changed_files|gate\.moved_branch|regression\.gone|regression\.skipped)$/

/** The same with what a person lets pass turned into notes; a gate that only that stood in the way of has passed. */
export function allowed(check: Seen, allow: readonly string[]): Seen {
  const isLet = ({ code, weight }: Finding) => weight === 'block' && MAY_PASS.test(code) && allow.includes(code)
  if (!check.findings.some(isLet)) return check
  const findings = check.findings.map(finding => (isLet(finding) ? { ...finding, weight: 'note' as const } : finding))
  const isHeld = check.status === 'failed' || (check.status === 'broken' && check.gate === 'repository')
  const status = isHeld ? statusBy(findings, check.status) : check.status
  return { ...check, findings, status }
}
