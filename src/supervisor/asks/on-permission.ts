import { crashPoint } from '../../base/crash-point.ts'
import { shortId } from '../../base/ids.ts'
import type { OpenAsk } from '../../domain/api.ts'
import type { Assessment } from '../../domain/assessment.ts'
import { isAutomatic } from '../../domain/human/decided-by.ts'
import type { Park, Request, Verdict } from '../../domain/session.ts'
import type { Reply } from '../../human/terminals.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import { wayRound } from '../../policy/verdict/way-round.ts'
import { byAgent, eventOf } from '../events/agent-event.ts'
import { record } from '../record.ts'
import type { Parts, Run } from '../run.ts'
import { targetOf } from '../target-of.ts'
import { askingPatch } from './asking-patch.ts'
import { callStored } from './call-stored.ts'
import { type Judgement, judge } from './judge.ts'
import { morningRow } from './morning-row.ts'
import { answerTo, parkPermission, wasParkedOn } from './parked-permission.ts'
import { storedReasons } from './stored-reasons.ts'

interface Desk {
  run: Run
  parts: Parts
}

/**
 * May this call happen? The policy decides, with the brain for what is in between, or a person at an attached terminal.
 * With nobody there it is denied at once, with the way round, unless the person chose that dangerous calls wait.
 */
export async function onPermission(request: Request, signal: AbortSignal, desk: Desk): Promise<Verdict | Park> {
  const { run, parts } = desk
  await callStored(request, desk)
  const since = performance.now()
  const refused = await run.guard(request)
  const judgement: Judgement = refused ? { decision: refused } : await judge(request, signal, desk)
  const verdict = answerTo(request, judgement, run) ?? (await settled({ request, judgement, signal }, desk))
  if ('park' in verdict) return verdict
  const { assessment, decision } = judgement
  crashPoint('tool.before-verdict')
  await record(run, parts, {
    events: [
      eventOf(
        run,
        'permission.decided',
        {
          call_id: request.callId,
          tool: request.tool,
          target: targetOf(request.input, run.row.project),
          verdict: verdict.verdict === 'allow' ? 'allow' : 'deny',
          risk: verdict.risk,
          reason: verdict.reason,
          confidence: verdict.confidence,
          by: verdict.by,
          ...(decision.rule === undefined ? {} : { rule: decision.rule }),
          reasons: storedReasons(assessment),
          latency_ms: Math.round((performance.now() - since) * 100) / 100,
          ...byAgent(request),
        },
        actorOf(verdict),
      ),
    ],
    patch: {
      ...counted(run, verdict),
      ...(wasParkedOn(request, run) ? { parked: null } : {}),
      ...askingPatch(run, parts),
    },
    escalation: morningRow({ request, judgement, verdict, signal }, run),
  })
  run.log.info(
    { tool: request.tool, verdict: verdict.verdict, risk: verdict.risk, by: verdict.by },
    'permission decided',
  )
  crashPoint('tool.after-verdict')
  return verdict
}

interface Unsure {
  request: Request
  judgement: Judgement
  signal: AbortSignal
}

/** A decision of the policy as it is; a question goes to a person, and without one it is a refusal or waits. */
async function settled(unsure: Unsure, { run, parts }: Desk): Promise<Verdict | Park> {
  const { request, judgement } = unsure
  const { assessment, decision } = judgement
  if (decision.verdict !== 'ask' || !assessment) return plain(decision)
  const reply: Reply = parts.terminals.isAttached(run.id)
    ? await askPerson({ ...unsure, assessment }, { run, parts })
    : { unanswered: 'nobody' }
  const waits = 'unanswered' in reply && reply.unanswered === 'nobody' && decision.risk === 'HIGH'
  const park =
    waits && run.policy.unattendedHigh === 'wait' ? parkPermission({ request, decision, assessment }, run) : undefined
  return park ?? verdictOf(reply, decision, assessment)
}

async function askPerson(
  { request, judgement, signal, assessment }: Unsure & { assessment: Assessment },
  { run, parts }: Desk,
): Promise<Reply> {
  const ask: OpenAsk = {
    kind: 'permission',
    ask_id: shortId('a'),
    tool: request.tool,
    target: targetOf(request.input, run.row.project),
    risk: judgement.decision.risk,
    reason: judgement.decision.reason,
    reasons: storedReasons(assessment),
  }
  // Open before it is told of: whoever reads the event can answer it.
  const reply = parts.terminals.ask(run.id, ask, signal)
  const { kind: _, ...asked } = ask
  await record(run, parts, {
    events: [eventOf(run, 'permission.asked', { ...asked, call_id: request.callId, ...byAgent(request) }, 'daemon')],
    patch: askingPatch(run, parts),
  })
  return reply
}

function verdictOf(reply: Reply, { risk, reason }: Decision, assessment: Assessment): Verdict {
  if ('unanswered' in reply) {
    const why =
      reply.unanswered === 'nobody'
        ? `nobody is attached to approve this; ${wayRound(assessment)}`
        : 'the session was stopped before anybody answered'
    return { verdict: 'deny', risk, reason: `${reason}; ${why}`, confidence: 1, by: 'nobody' }
  }
  const { verdict, reason: said, by } = reply.answered
  if (verdict === 'allow')
    return { verdict: 'allow', risk, reason: said ?? 'approved at the terminal', confidence: 1, by }
  return {
    verdict: 'deny',
    risk,
    reason: said ?? 'the person at the terminal said no; go on without it',
    confidence: 1,
    by,
  }
}

/** An `ask` that cannot be brought to anybody is a refusal. */
function plain({ verdict, risk, reason, confidence, by }: Decision): Verdict {
  return { verdict: verdict === 'allow' ? 'allow' : 'deny', risk, reason, confidence, by }
}

function counted(run: Run, { verdict, by }: Verdict): Partial<Run['row']> {
  const { tools_auto, tools_human, tools_denied } = run.row
  if (verdict !== 'allow') return { tools_denied: tools_denied + 1 }
  return isAutomatic(by) ? { tools_auto: tools_auto + 1 } : { tools_human: tools_human + 1 }
}

function actorOf({ by }: Verdict): string {
  return isAutomatic(by) || by === 'nobody' ? 'daemon' : 'human'
}
