import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { VerifyRequest } from '../request.ts'
import { type Seen, seen, statusBy } from './seen.ts'

/** Whether the agent left something of its own plan open, or a part of the task is not done. */
export function planGate({ plan, openChildren }: Pick<VerifyRequest, 'plan' | 'openChildren'>): Seen {
  const open = plan.filter(({ state }) => state !== 'done')
  const findings: Finding[] = open.map(({ text, state }) => ({
    code: 'plan.open',
    weight: 'block',
    text: `Your plan still has an item that is ${state}: ${text}`,
  }))
  if (openChildren > 0) {
    const parts = openChildren === 1 ? 'One part of the task is' : `${openChildren} parts of the task are`
    findings.push({ code: 'plan.open_child', weight: 'block', text: `${parts} not done yet.` })
  }
  const isEmpty = plan.length === 0 && openChildren === 0
  return seen({ gate: 'plan', kind: 'plan', status: isEmpty ? 'skipped' : statusBy(findings), findings })
}
