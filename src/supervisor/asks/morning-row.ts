import type { NewEscalation } from '../../domain/escalation.ts'
import type { Request, Verdict } from '../../domain/session.ts'
import type { Run } from '../run.ts'
import { targetOf } from '../target-of.ts'
import type { Judgement } from './judge.ts'

interface Refused {
  request: Request
  judgement: Judgement
  verdict: Verdict
  signal: AbortSignal
}

/**
 * The row by which a person hears in the morning of what was refused because nobody was there. None for what a rule or a
 * person refused, and none for a call that was withdrawn: its session was stopped, nobody waits for an answer.
 */
export function morningRow({ request, judgement, verdict, signal }: Refused, run: Run): NewEscalation | undefined {
  const { assessment, decision } = judgement
  const unasked = decision.morning === true || (verdict.by === 'nobody' && !signal.aborted)
  if (!assessment || !unasked || verdict.verdict === 'allow') return undefined
  return {
    kind: 'permission',
    session_id: run.id,
    project: run.policy.project,
    call_id: request.callId,
    tool: request.tool,
    target: targetOf(request.input, run.row.project),
    input: request.input,
    risk: verdict.risk,
    reason: assessment.reasons[0]?.text ?? decision.reason,
    normalised: assessment.normalised,
    state: 'denied',
  }
}
