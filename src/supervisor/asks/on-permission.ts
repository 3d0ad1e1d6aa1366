import { shortId } from '../../base/ids.ts'
import type { OpenAsk } from '../../domain/api.ts'
import type { Request, Verdict } from '../../domain/session.ts'
import type { Reply } from '../../human/terminals.ts'
import { decide } from '../../policy/decide.ts'
import { byAgent, eventOf } from '../events/agent-event.ts'
import { record } from '../record.ts'
import type { Parts, Run } from '../run.ts'
import { targetOf } from '../target-of.ts'
import { askingPatch } from './asking-patch.ts'
import { callStored } from './call-stored.ts'

interface Desk {
  run: Run
  parts: Parts
}

/** Told to the agent when nobody can be asked, so that it goes on with what it can do. */
const NOBODY_ATTACHED =
  'nobody is attached to approve this; go on without it, use the file tools inside the project, and say in your report that it was skipped'

/** May this call happen? The policy decides, or a person at an attached terminal, or nobody: then it is denied at once. */
export async function onPermission(request: Request, signal: AbortSignal, { run, parts }: Desk): Promise<Verdict> {
  const since = parts.clock.now()
  await callStored(request, { run, parts })
  const opinion = decide(request, run.policy)
  const verdict = opinion.verdict === 'ask' ? await askPerson({ request, opinion, signal }, { run, parts }) : opinion
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
          latency_ms: parts.clock.now() - since,
          ...byAgent(request),
        },
        actorOf(verdict),
      ),
    ],
    patch: { ...counted(run, verdict), ...askingPatch(run, parts) },
  })
  run.log.info(
    { tool: request.tool, verdict: verdict.verdict, risk: verdict.risk, by: verdict.by },
    'permission decided',
  )
  return verdict
}

interface Unsure {
  request: Request
  opinion: Verdict
  signal: AbortSignal
}

async function askPerson({ request, opinion, signal }: Unsure, { run, parts }: Desk): Promise<Verdict> {
  if (!parts.terminals.isAttached(run.id)) return verdictOf({ unanswered: 'nobody' }, opinion)
  const ask: OpenAsk = {
    kind: 'permission',
    ask_id: shortId('a'),
    tool: request.tool,
    target: targetOf(request.input, run.row.project),
    risk: opinion.risk,
    reason: opinion.reason,
  }
  // Open before it is told of: whoever reads the event can answer it.
  const reply = parts.terminals.ask(run.id, ask, signal)
  const { kind: _, ...asked } = ask
  await record(run, parts, {
    events: [eventOf(run, 'permission.asked', { ...asked, call_id: request.callId, ...byAgent(request) }, 'daemon')],
    patch: askingPatch(run, parts),
  })
  return verdictOf(await reply, opinion)
}

function verdictOf(reply: Reply, { risk, reason }: Verdict): Verdict {
  if ('unanswered' in reply) {
    const why = reply.unanswered === 'nobody' ? NOBODY_ATTACHED : 'the session was stopped before anybody answered'
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

function counted(run: Run, { verdict, by }: Verdict): Partial<Run['row']> {
  const { tools_auto, tools_human, tools_denied } = run.row
  if (verdict !== 'allow') return { tools_denied: tools_denied + 1 }
  return isMachine(by) ? { tools_auto: tools_auto + 1 } : { tools_human: tools_human + 1 }
}

function actorOf({ by }: Verdict): string {
  return isMachine(by) || by === 'nobody' ? 'daemon' : 'human'
}

function isMachine(by: string): boolean {
  return by === 'policy' || by === 'rule'
}
