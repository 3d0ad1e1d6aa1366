import type { Escalation, EscalationAnswer, OnDeadline } from '../domain/escalation.ts'

/** The settings of `[human]`. */
export interface DeadlineSettings {
  /** How long a terminal may be silent before what it asks waits without an agent. */
  grace_seconds: number
  deadline_minutes: number | undefined
  on_deadline: { question: OnDeadline; permission: Exclude<OnDeadline, 'take_suggestion'> }
}

/** By when something of this kind is settled without a person, and how; an error or a review waits however long. */
export function deadlineOf(
  kind: Escalation['kind'],
  { deadline_minutes, on_deadline }: DeadlineSettings,
  now: number,
): Pick<Escalation, 'deadline' | 'on_deadline'> {
  const then = kind === 'question' || kind === 'permission' ? on_deadline[kind] : 'keep_waiting'
  if (deadline_minutes === undefined || then === 'keep_waiting') return { deadline: null, on_deadline: 'keep_waiting' }
  return { deadline: now + deadline_minutes * 60_000, on_deadline: then }
}

/** What is said in place of a person when the deadline is there; nothing where it waits on. No call is ever approved so. */
export function saidAtDeadline({ kind, on_deadline, context, created_at }: Escalation, now: number) {
  const minutes = Math.max(1, Math.round((now - created_at) / 60_000))
  const nobody = `nobody answered in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}`
  if (on_deadline === 'deny') {
    const next = kind === 'question' ? 'decide by yourself and say what you assumed' : 'go on without it'
    return { verdict: 'deny', by: 'deadline', reason: `${nobody}; ${next}` } satisfies EscalationAnswer
  }
  const { suggestion } = context
  if (on_deadline !== 'take_suggestion' || kind !== 'question' || !suggestion) return undefined
  const { answer, confidence, by } = suggestion
  const reason = `${nobody}; the suggestion of ${by} was taken (${Math.round(confidence * 100)} %)`
  return { answer, by: 'deadline', reason } satisfies EscalationAnswer
}
