import { crashPoint } from '../../base/crash-point.ts'
import { shortId } from '../../base/ids.ts'
import { type ToolReply, toolInput } from '../../domain/agent-tools.ts'
import type { OpenAsk } from '../../domain/api.ts'
import type { Assessment } from '../../domain/assessment.ts'
import { isAutomatic } from '../../domain/deciders.ts'
import type { EscalationAnswer } from '../../domain/escalation.ts'
import type { Asks, Park, Question, Request, Verdict } from '../../domain/session.ts'
import { workDirectory } from '../../domain/worktree.ts'
import { PATIENCE_MS, type TerminalReply } from '../../human/terminals.ts'
import { findChangedFiles } from '../../policy/paths/look.ts'
import { type Decision, suggestAlternative } from '../../policy/verdict/decide.ts'
import { spendAllowance } from './allow-once.ts'
import { questionRow } from './brain.ts'
import {
  agentFields,
  eventOf,
  type LiveSession,
  type SessionContext,
  type SessionDeps,
  type SessionUpdate,
} from './context.ts'
import { waitUntilCallStored } from './events.ts'
import {
  answerToPermission,
  isParkable,
  type Judgement,
  judgeRequest,
  parkPermission,
  permissionRow,
  refusalRow,
  tellPerson,
  wasParkedOn,
} from './judge.ts'
import { askInInterview, onQuestion } from './on-question.ts'
import { record } from './record.ts'
import { mayCall } from './task-tools.ts'
import { askingPatch, terminalWait } from './terminal.ts'
import { keepAnswerForLater, storedReasons, targetOf } from './tool-call.ts'
import { callTool } from './tools.ts'

/** The functions whose answer the agent's driver awaits before the agent may act. */
export function asksFor(live: LiveSession, deps: SessionDeps): Asks {
  return {
    permission: (request, signal) => onPermission(request, signal, { live, deps }),
    question: (question, signal) =>
      live.row.options.feature?.phase === 'interview'
        ? askInInterview(question, signal, { live, deps })
        : onQuestion(question, signal, { live, deps }),
    tool: (name, input) => callTool(name, input, { live, deps }),
  }
}

/**
 * Decides whether a call may happen: by policy, by the brain for calls in between, or by a person at an attached terminal.
 * With nobody attached the call is denied at once with an alternative, unless the person chose that dangerous calls wait.
 * What was judged is what runs: if a file that was read for the verdict is another one by now, the call is judged anew.
 */
export async function onPermission(
  request: Request,
  signal: AbortSignal,
  context: SessionContext,
  tries = MAX_TRIES,
): Promise<Verdict | Park> {
  const { live } = context
  await waitUntilCallStored(request, context)
  const since = performance.now()
  const refused = await live.settings.guard(request)
  const judgement: Judgement = refused ? { decision: refused } : await judgeRequest(request, signal, context)
  const {
    agent: { answer },
  } = live
  const given = answerToPermission(request, judgement, live)
  const allowed = given ?? (await allowedOnce({ request, judgement }, context))
  const { verdict, settle } = allowed
    ? { verdict: allowed }
    : await settleDecision({ request, judgement, signal }, context)
  if ('park' in verdict) return verdict
  const changed = verdict.verdict === 'allow' ? findChangedFiles(judgement.assessment?.files ?? {}) : []
  if (changed.length > 0 && tries > 1) {
    live.log.warn({ tool: request.tool, changed }, 'a file that the call runs has changed since it was judged')
    if (settle) await record(live, context.deps, { events: [], patch: askingPatch(live, context.deps), settle })
    return onPermission(request, signal, context, tries - 1)
  }
  const released = changed.length > 0 ? refuseChanged(verdict, changed) : verdict
  try {
    await storeVerdict({ request, judgement, signal }, { verdict: released, settle, since }, context)
  } catch (error) {
    if (given && answer) keepAnswerForLater(live, answer)
    throw error
  }
  live.log.info(
    { tool: request.tool, verdict: released.verdict, risk: released.risk, by: released.by },
    'permission decided',
  )
  crashPoint('tool.after-verdict')
  return released
}

/** The verdict of a person who has allowed exactly this call once, after it had been refused. */
async function allowedOnce(
  { request, judgement: { decision, assessment } }: Omit<JudgedRequest, 'signal'>,
  context: SessionContext,
): Promise<Verdict | undefined> {
  return assessment && spendAllowance({ request, assessment, decision }, context)
}

/** A file that changes again and again while its call is judged is not waited for. */
const MAX_TRIES = 3

function refuseChanged({ risk }: Verdict, changed: readonly string[]): Verdict {
  const reason = `${changed[0]} changes while the call that runs it is judged; leave it alone for a moment and try again`
  return { verdict: 'deny', risk, reason, confidence: 1, by: 'policy' }
}

interface JudgedRequest {
  request: Request
  judgement: Judgement
  signal: AbortSignal
}

interface VerdictResult extends PersonVerdict {
  verdict: Verdict
  since: number
}

async function storeVerdict(
  { request, judgement, signal }: JudgedRequest,
  { verdict, settle, since }: VerdictResult,
  { live, deps }: SessionContext,
) {
  const { assessment, decision } = judgement
  crashPoint('tool.before-verdict')
  await record(live, deps, {
    events: [
      eventOf(
        live,
        'permission.decided',
        {
          call_id: request.callId,
          tool: request.tool,
          target: targetOf(request.input, workDirectory(live.row)),
          verdict: verdict.verdict === 'allow' ? 'allow' : 'deny',
          risk: verdict.risk,
          reason: verdict.reason,
          confidence: verdict.confidence,
          by: verdict.by,
          ...(decision.rule === undefined ? {} : { rule: decision.rule }),
          reasons: storedReasons(assessment),
          latency_ms: Math.round((performance.now() - since) * 100) / 100,
          ...agentFields(request),
        },
        actorOf(verdict),
      ),
    ],
    patch: {
      ...countVerdict(live, verdict),
      ...(wasParkedOn(request, live) ? { parked: null } : {}),
      ...askingPatch(live, deps),
    },
    escalation: refusalRow({ request, judgement, verdict, signal }, live),
    settle,
  })
}

/** Takes a decision of the policy as it is; a call that the policy leaves open goes to a person. */
async function settleDecision(
  { request, judgement, signal }: JudgedRequest,
  context: SessionContext,
): Promise<PersonVerdict> {
  const { assessment, decision } = judgement
  if (decision.verdict !== 'ask' || !assessment) return { verdict: plainVerdict(decision) }
  return askPermission({ request, judgement: { ...judgement, assessment }, signal }, context)
}

/** An `ask` that cannot be put to anybody is a refusal. */
function plainVerdict({ verdict, risk, reason, confidence, by }: Decision): Verdict {
  return { verdict: verdict === 'allow' ? 'allow' : 'deny', risk, reason, confidence, by }
}

function countVerdict(live: LiveSession, { verdict, by }: Verdict): Partial<LiveSession['row']> {
  const { tools_auto, tools_human, tools_denied } = live.row
  if (verdict !== 'allow') return { tools_denied: tools_denied + 1 }
  return isAutomatic(by) ? { tools_auto: tools_auto + 1 } : { tools_human: tools_human + 1 }
}

function actorOf({ by }: Verdict): string {
  return isAutomatic(by) || by === 'nobody' ? 'daemon' : 'human'
}

/** A request that the policy leaves to a person. */
export interface UnsureRequest {
  request: Request
  judgement: Judgement & { assessment: Assessment }
  signal: AbortSignal
}

/** The verdict on such a request; `settle` is the answer for its escalation. */
interface PersonVerdict {
  verdict: Verdict | Park
  settle?: SessionUpdate['settle']
}

/**
 * Puts a call to a person. An attached terminal shows it, and it has an escalation too, so that it can be answered from
 * elsewhere; when nobody touches a key, the call is parked. With nobody attached the call is refused, or parked where the
 * person chose that.
 */
async function askPermission(unsure: UnsureRequest, context: SessionContext): Promise<PersonVerdict> {
  const { request, judgement } = unsure
  const { live, deps } = context
  const { decision, assessment, suggestion } = judgement
  // The agent is about to exit. It can park one call at a time, and asks for the next call of the same turn after that.
  if (live.agent.parking.size > 0) return { verdict: refusalFor('later', decision, assessment) }
  const askId = shortId('a')
  const { reply, number } = deps.terminals.isAttached(live.id)
    ? await askAtTerminal(askId, unsure, context)
    : { reply: NOBODY, number: undefined }
  const park = () => ({ verdict: parkPermission({ request, decision, assessment, suggestion, askId }, live) })
  if ('unanswered' in reply) {
    const isUnattendedHigh = reply.unanswered === 'nobody' && decision.risk === 'HIGH'
    const waits = isUnattendedHigh && live.settings.policy.unattendedHigh === 'wait' && isParkable(request)
    if (!waits && reply.unanswered !== 'silence') return { verdict: refusalFor(reply.unanswered, decision, assessment) }
    return live.agent.parking.size === 0 ? park() : { verdict: refusalFor('later', decision, assessment) }
  }
  const verdict = verdictFrom(reply.answered, decision)
  const { verdict: answered, reason, by } = reply.answered
  return { verdict, ...(number !== undefined && { settle: { number, answer: { verdict: answered, reason, by } } }) }
}

const NOBODY: TerminalReply = { unanswered: 'nobody' }

async function askAtTerminal(
  askId: string,
  { request, judgement, signal }: UnsureRequest,
  { live, deps }: SessionContext,
) {
  const { decision, assessment, suggestion } = judgement
  const { risk, reason } = decision
  const asked = {
    ask_id: askId,
    tool: request.tool,
    target: targetOf(request.input, workDirectory(live.row)),
    risk,
    reason: tellPerson(reason, { request, assessment }, live),
    reasons: storedReasons(assessment),
    ...(suggestion && { suggestion }),
  }
  const ask: OpenAsk = { kind: 'permission', ...asked }
  // The ask is opened before its event is stored: whoever reads the event can answer at once.
  const reply = deps.terminals.ask(live.id, ask, terminalWait({ signal, parks: isParkable(request) }, { live, deps }))
  const number = await record(live, deps, {
    events: [
      eventOf(live, 'permission.asked', { ...asked, call_id: request.callId, ...agentFields(request) }, 'daemon'),
    ],
    patch: askingPatch(live, deps),
    escalation: {
      ...permissionRow({ request, assessment, reason, risk }, live),
      ...(suggestion && { context: { suggestion } }),
      // The person did not choose that such calls wait, so the call is refused at the deadline and the work goes on.
      ...(live.settings.policy.unattendedHigh === 'deny' && {
        deadline: deps.clock.now() + PATIENCE_MS,
        on_deadline: 'deny' as const,
      }),
      state: 'open',
    },
  })
  if (number !== undefined) deps.terminals.number(live.id, askId, number)
  return { reply: await reply, number }
}

function refusalFor(
  why: 'nobody' | 'withdrawn' | 'later',
  { risk, reason }: Decision,
  assessment: Assessment,
): Verdict {
  const next = {
    nobody: `nobody is attached to approve this; ${suggestAlternative(assessment)}`,
    withdrawn: 'the session was stopped before anybody answered',
    later: 'another call of yours waits for a person first; when you go on, try this one again if you still need it',
  }[why]
  return { verdict: 'deny', risk, reason: `${reason}; ${next}`, confidence: 1, by: 'nobody' }
}

function verdictFrom(
  { verdict, reason, by }: Pick<EscalationAnswer, 'verdict' | 'reason' | 'by'>,
  { risk }: Decision,
): Verdict {
  if (verdict === 'allow') return { verdict, risk, reason: reason ?? 'approved by a person', confidence: 1, by }
  return { verdict: 'deny', risk, reason: reason ?? 'a person said no; go on without it', confidence: 1, by }
}

/** The most questions of one session: a person could not work through a longer list. */
const MOST_QUESTIONS = 50

const NOBODY_HERE =
  'Nobody is there to answer now; it is on their list. Go on without it and say what you assumed; if nothing can be done without the answer, end your turn with the question.'

/**
 * A question of an agent whose calls cannot be parked. A person at an attached terminal answers it at once; with nobody
 * attached it becomes an escalation, and the agent goes on.
 */
export async function askOverSocket(input: unknown, call: SessionContext): Promise<ToolReply> {
  const { live, deps } = call
  const { data } = toolInput('ask_human', input)
  if (!data) return { ok: false, text: 'Not done: the question could not be read.' }
  if (!mayCall('ask_human', MOST_QUESTIONS, call))
    return {
      ok: false,
      text: `Not done: ${MOST_QUESTIONS} questions are the most; decide by yourself and say what you assumed.`,
    }
  const options = (data.options ?? []).map(label => ({ label, description: '' }))
  const item = { question: data.question, header: '', multiSelect: false, options }
  const question: Question = { callId: shortId('ask'), questions: [item] }
  if (!deps.terminals.isAttached(live.id)) {
    const escalation = questionRow(question, 'nobody is attached to answer; the agent goes on', live)
    await record(live, deps, { events: [], patch: {}, escalation })
    return { ok: false, text: NOBODY_HERE }
  }
  // Asked as if by a subagent: such a call is answered or declined, and never parks the session.
  const asked = { ...question, agentId: 'tools' }
  const answer = await asksFor(live, deps).question(asked, AbortSignal.timeout(DEADLINE_MS))
  if ('answers' in answer) return { ok: true, text: [answer.answers[data.question] ?? ''].flat().join(', ') }
  return { ok: false, text: 'declined' in answer ? answer.declined : NOBODY_HERE }
}

/** Other MCP clients give up on a call sooner or later, so a person at a terminal is asked for no longer than this. */
const DEADLINE_MS = 10 * 60_000
