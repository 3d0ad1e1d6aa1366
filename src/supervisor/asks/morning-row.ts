import type { Assessment } from '../../domain/assessment.ts'
import type { NewEscalation } from '../../domain/escalation.ts'
import type { Request, Risk, Verdict } from '../../domain/session.ts'
import { workDirectory } from '../../domain/workspace/work-directory.ts'
import type { Run } from '../run.ts'
import { targetOf } from '../target-of.ts'
import type { Judgement } from './judge.ts'
import { storedReasons } from './stored-reasons.ts'

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
  const reason = assessment.reasons[0]?.text ?? decision.reason
  return { ...permissionRow({ request, assessment, reason, risk: verdict.risk }, run), state: 'denied' }
}

interface Wanted {
  request: Request
  assessment: Assessment
  reason: string
  risk: Risk
}

/** What a row tells of a call, whatever became of it. */
export function permissionRow({ request, assessment, reason, risk }: Wanted, run: Run): Omit<NewEscalation, 'state'> {
  return {
    kind: 'permission',
    session_id: run.id,
    project: run.row.project,
    task: run.row.task,
    call_id: request.callId,
    tool: request.tool,
    target: targetOf(request.input, workDirectory(run.row)),
    input: request.input,
    risk,
    reason,
    reasons: storedReasons(assessment),
    normalised: assessment.normalised,
  }
}
