import type { Assessment } from '../../domain/assessment.ts'
import type { Suggestion } from '../../domain/brain/suggestion.ts'
import type { Park, Request, Verdict } from '../../domain/session.ts'
import { workDirectory } from '../../domain/workspace/work-directory.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import type { Run } from '../run.ts'
import { targetOf } from '../target-of.ts'
import { callDigest } from './call-digest.ts'
import { isPermission } from './given-answer.ts'
import type { Judgement } from './judge.ts'
import { permissionRow } from './morning-row.ts'
import { storedReasons } from './stored-reasons.ts'

/** What cannot be shown whole cannot be approved later: it is refused at once. */
const LONGEST = 4_000

interface Waiting {
  request: Request
  decision: Decision
  assessment: Assessment
  suggestion: Suggestion | undefined
  /** By which it was asked at a terminal, where it was: whoever sits there answers it by that still. */
  askId: string
}

/** Whether a call can be put off: not a subagent's, and not one that could not be shown whole. */
export function isParkable({ agentId, input }: Request): boolean {
  return agentId === undefined && JSON.stringify(input).length <= LONGEST
}

/** Puts a call off until somebody answers; no process waits. */
export function parkPermission({ request, decision, assessment, suggestion, askId }: Waiting, run: Run): Park {
  const { tool, input, callId } = request
  const reason = `${decision.risk} risk: ${decision.reason}; it waits for a person`
  run.parking.set(callId, {
    parked: {
      ask_id: askId,
      call_id: callId,
      tool,
      target: targetOf(input, workDirectory(run.row)),
      risk: decision.risk,
      reason: decision.reason,
      reasons: storedReasons(assessment),
      ...(suggestion && { suggestion }),
      digest: callDigest(tool, input),
    },
    reason,
    escalation: {
      ...permissionRow({ request, assessment, reason: decision.reason, risk: decision.risk }, run),
      ...(suggestion && { context: { suggestion } }),
      state: 'open',
    },
  })
  run.log.info({ tool }, 'permission parked')
  return { park: true, reason }
}

/** The answer with which a parked session was started again. It is for this very call with this very input, or for none. */
export function answerTo(request: Request, { decision, assessment }: Judgement, run: Run): Verdict | undefined {
  const given = run.answer
  if (!given || !('digest' in given)) return undefined
  const isAgain = given.anew === true && given.digest === callDigest(request.tool, request.input)
  if (given.callId !== request.callId && !isAgain) return undefined
  run.answer = undefined
  // What a rule, a blocked command or a missing trust refuses, no answer opens; nor what the policy failed on.
  if (!assessment || (decision.verdict === 'deny' && decision.by === 'rule')) return undefined
  const { verdict, reason, by } = given
  const { risk } = decision
  if (verdict === 'deny') {
    return { verdict, risk, reason: reason ?? 'a person said no; go on without it', confidence: 1, by }
  }
  if (given.digest !== callDigest(request.tool, request.input)) {
    return { verdict: 'deny', risk, reason: CHANGED, confidence: 1, by: 'nobody' }
  }
  return { verdict, risk, reason: reason ?? 'approved by a person', confidence: 1, by }
}

const CHANGED = 'it is not the call that a person approved; go on without it'

/** Whether the session was parked on this call. */
export function wasParkedOn(request: Request, { row }: Run): boolean {
  return row.parked !== null && isPermission(row.parked) && row.parked.call_id === request.callId
}
