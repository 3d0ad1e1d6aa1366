import { crashPoint } from '../../base/crash-point.ts'
import { isAutomatic } from '../../domain/human/decided-by.ts'
import type { Park, Request, Verdict } from '../../domain/session.ts'
import { workDirectory } from '../../domain/workspace/work-directory.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import { byAgent, eventOf } from '../events/agent-event.ts'
import { record } from '../record.ts'
import type { Desk, Run } from '../run.ts'
import { targetOf } from '../target-of.ts'
import { askingPatch } from './asking-patch.ts'
import { askPermission, type Said } from './at-terminal/ask-permission.ts'
import { callStored } from './call-stored.ts'
import { tellLater } from './given-answer.ts'
import { type Judgement, judge } from './judge.ts'
import { morningRow } from './morning-row.ts'
import { answerTo, wasParkedOn } from './parked-permission.ts'
import { storedReasons } from './stored-reasons.ts'

/**
 * May this call happen? The policy decides, with the brain for what is in between, or a person at an attached terminal.
 * With nobody there it is denied at once, with the way round, unless the person chose that dangerous calls wait.
 */
export async function onPermission(request: Request, signal: AbortSignal, desk: Desk): Promise<Verdict | Park> {
  const { run } = desk
  await callStored(request, desk)
  const since = performance.now()
  const refused = await run.guard(request)
  const judgement: Judgement = refused ? { decision: refused } : await judge(request, signal, desk)
  const { answer } = run
  const given = answerTo(request, judgement, run)
  const { verdict, settle } = given ? { verdict: given } : await settled({ request, judgement, signal }, desk)
  if ('park' in verdict) return verdict
  try {
    await store({ request, judgement, signal }, { verdict, settle, since }, desk)
  } catch (error) {
    if (given && answer) tellLater(run, answer)
    throw error
  }
  run.log.info(
    { tool: request.tool, verdict: verdict.verdict, risk: verdict.risk, by: verdict.by },
    'permission decided',
  )
  crashPoint('tool.after-verdict')
  return verdict
}

interface Judged {
  request: Request
  judgement: Judgement
  signal: AbortSignal
}

interface Result extends Said {
  verdict: Verdict
  since: number
}

async function store({ request, judgement, signal }: Judged, { verdict, settle, since }: Result, { run, parts }: Desk) {
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
          target: targetOf(request.input, workDirectory(run.row)),
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
    settle,
  })
}

/** A decision of the policy as it is; what it leaves open goes to a person. */
async function settled({ request, judgement, signal }: Judged, desk: Desk): Promise<Said> {
  const { assessment, decision } = judgement
  if (decision.verdict !== 'ask' || !assessment) return { verdict: plain(decision) }
  return askPermission({ request, judgement: { ...judgement, assessment }, signal }, desk)
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
