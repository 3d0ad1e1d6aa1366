import { AppError } from '../base/errors.ts'
import type { Escalation } from '../domain/escalation.ts'

/** What somebody is told who answers when nothing waits any more: who was first, or why no answer is needed. */
export function lateAnswer({ number, state, verdict, answered_by, answered_at, answer_reason }: Escalation): AppError {
  const when = `${new Date(answered_at ?? 0).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  if (state === 'withdrawn') return new AppError('escalation_withdrawn', { number, when, reason: answer_reason ?? '' })
  const said = verdict === 'allow' ? 'approved' : verdict === 'deny' ? 'denied' : 'answered'
  return new AppError('escalation_answered', { number, verdict: said, by: answered_by ?? 'somebody', when })
}
