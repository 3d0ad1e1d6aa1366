import { shortId } from '../../../base/ids.ts'
import type { OpenAsk } from '../../../domain/api.ts'
import type { Assessment } from '../../../domain/assessment.ts'
import type { EscalationAnswer } from '../../../domain/escalation.ts'
import type { Park, Request, Verdict } from '../../../domain/session.ts'
import { workDirectory } from '../../../domain/workspace/work-directory.ts'
import { PATIENCE_MS, type Reply } from '../../../human/terminals.ts'
import type { Decision } from '../../../policy/verdict/decide.ts'
import { wayRound } from '../../../policy/verdict/way-round.ts'
import { byAgent, eventOf } from '../../events/agent-event.ts'
import { record } from '../../record.ts'
import type { Desk, Step } from '../../run.ts'
import { targetOf } from '../../target-of.ts'
import { askingPatch } from '../asking-patch.ts'
import type { Judgement } from '../judge.ts'
import { permissionRow } from '../morning-row.ts'
import { isParkable, parkPermission } from '../parked-permission.ts'
import { storedReasons } from '../stored-reasons.ts'
import { waitAt } from './wait-at.ts'

/** What the policy leaves to a person. */
export interface Unsure {
  request: Request
  judgement: Judgement & { assessment: Assessment }
  signal: AbortSignal
}

/** What became of it; `settle` is what its row is told. */
export interface Said {
  verdict: Verdict | Park
  settle?: Step['settle']
}

/**
 * Brings a call to a person. Where a terminal is attached it is put to whoever sits there and has a row all the same, by
 * which it is answered from elsewhere; when nobody touches a key it waits without an agent. With nobody attached it is
 * refused, or waits where the person chose that.
 */
export async function askPermission(unsure: Unsure, desk: Desk): Promise<Said> {
  const { request, judgement } = unsure
  const { run, parts } = desk
  const { decision, assessment, suggestion } = judgement
  // The agent is about to go: it can put off one call at a time, and asks for the next of the same turn after that.
  if (run.parking.size > 0) return { verdict: refused('later', decision, assessment) }
  const askId = shortId('a')
  const { reply, number } = parts.terminals.isAttached(run.id)
    ? await askHere(askId, unsure, desk)
    : { reply: NOBODY, number: undefined }
  const park = () => ({ verdict: parkPermission({ request, decision, assessment, suggestion, askId }, run) })
  if ('unanswered' in reply) {
    const isAlone = reply.unanswered === 'nobody' && decision.risk === 'HIGH'
    const waits = isAlone && run.policy.unattendedHigh === 'wait' && isParkable(request)
    if (!waits && reply.unanswered !== 'silence') return { verdict: refused(reply.unanswered, decision, assessment) }
    return run.parking.size === 0 ? park() : { verdict: refused('later', decision, assessment) }
  }
  const verdict = saidAt(reply.answered, decision)
  const { verdict: said, reason, by } = reply.answered
  return { verdict, ...(number !== undefined && { settle: { number, said: { verdict: said, reason, by } } }) }
}

const NOBODY: Reply = { unanswered: 'nobody' }

async function askHere(askId: string, { request, judgement, signal }: Unsure, { run, parts }: Desk) {
  const { decision, assessment, suggestion } = judgement
  const { risk, reason } = decision
  const asked = {
    ask_id: askId,
    tool: request.tool,
    target: targetOf(request.input, workDirectory(run.row)),
    risk,
    reason,
    reasons: storedReasons(assessment),
    ...(suggestion && { suggestion }),
  }
  const ask: OpenAsk = { kind: 'permission', ...asked }
  // Open before it is told of: whoever reads the event can answer it.
  const reply = parts.terminals.ask(run.id, ask, waitAt({ signal, parks: isParkable(request) }, { run, parts }))
  const number = await record(run, parts, {
    events: [eventOf(run, 'permission.asked', { ...asked, call_id: request.callId, ...byAgent(request) }, 'daemon')],
    patch: askingPatch(run, parts),
    escalation: {
      ...permissionRow({ request, assessment, reason, risk }, run),
      ...(suggestion && { context: { suggestion } }),
      // Nobody chose that it waits however long: then it is refused, as it always was, and the work goes on.
      ...(run.policy.unattendedHigh === 'deny' && {
        deadline: parts.clock.now() + PATIENCE_MS,
        on_deadline: 'deny' as const,
      }),
      state: 'open',
    },
  })
  if (number !== undefined) parts.terminals.number(run.id, askId, number)
  return { reply: await reply, number }
}

function refused(why: 'nobody' | 'withdrawn' | 'later', { risk, reason }: Decision, assessment: Assessment): Verdict {
  const next = {
    nobody: `nobody is attached to approve this; ${wayRound(assessment)}`,
    withdrawn: 'the session was stopped before anybody answered',
    later: 'another call of yours waits for a person first; when you go on, try this one again if you still need it',
  }[why]
  return { verdict: 'deny', risk, reason: `${reason}; ${next}`, confidence: 1, by: 'nobody' }
}

function saidAt(
  { verdict, reason, by }: Pick<EscalationAnswer, 'verdict' | 'reason' | 'by'>,
  { risk }: Decision,
): Verdict {
  if (verdict === 'allow') return { verdict, risk, reason: reason ?? 'approved by a person', confidence: 1, by }
  return { verdict: 'deny', risk, reason: reason ?? 'a person said no; go on without it', confidence: 1, by }
}
