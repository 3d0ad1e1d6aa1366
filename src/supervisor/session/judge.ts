import { isDeepStrictEqual } from 'node:util'
import { findHiddenPath } from '../../base/sandbox/visible-paths.ts'
import type { Assessment, Piece } from '../../domain/assessment.ts'
import type { Suggestion } from '../../domain/brain.ts'
import type { NewEscalation } from '../../domain/escalation.ts'
import { OWN_SERVER } from '../../domain/own-server.ts'
import type { Park, Request, Risk, Verdict } from '../../domain/session.ts'
import { workDirectory } from '../../domain/worktree.ts'
import { openPrecedents } from '../../human/precedents.ts'
import { type Decision, decide } from '../../policy/verdict/decide.ts'
import { rulesFromAllowedTools } from '../../policy/verdict/rules.ts'
import { boundTo, spellingOf } from './allow-once.ts'
import { opinionOn, type PermissionAdvice } from './brain.ts'
import type { LiveSession, SessionContext } from './context.ts'
import { callDigest, isPermission, storedReasons, targetOf } from './tool-call.ts'

export interface Judgement {
  decision: Decision
  /** Absent when the policy itself failed. */
  assessment?: Assessment
  /** A brain's opinion, for the person who is asked. */
  suggestion?: Suggestion | undefined
}

/** Judges a request by policy and brain: its risk and the verdict. Any failure on the way is a refusal. */
export async function judgeRequest(
  request: Request,
  signal: AbortSignal,
  { live, deps }: SessionContext,
): Promise<Judgement> {
  const {
    settings: { policy },
  } = live
  let suggestion: Suggestion | undefined
  try {
    const { project, home, safeDirectories, worktree } = policy
    const { tool, input, cwd } = request
    // The tools are ours because we run the server, never by its name: a server of the project may have the same name.
    const ownServers = request.own ? [OWN_SERVER] : []
    const assessment = await deps.policy.classify({
      ...{ tool, input, cwd, project, home, worktree, safeDirectories, ownServers },
      secrets: live.settings.secrets,
    })
    const decision = await decide(
      assessment,
      {
        tool,
        blocked: policy.blocked,
        rules: [...(await policy.rules()), ...rulesFromAllowedTools(policy.allowedTools, request, assessment)],
        autoApproveLow: policy.autoApproveLow,
        threshold: policy.threshold,
        // A person's answer to the very same request counts before their answers to ones like it.
        precedent: async assessed => {
          const precedents = openPrecedents(deps.store, deps.clock, live.settings.brainSettings.memory)
          return (
            (await precedents.find(project, tool, assessed)) ??
            deps.memory.advise(live.row.project, tool, assessed, { session: live.id })
          )
        },
        opinion: async (assessed, deadline) => {
          const advice = await opinionOn(request, assessed, deadline, { live, deps })
          suggestion = suggestionIn(advice)
          return advice
        },
        attached: deps.terminals.isAttached(live.id),
        unattendedHigh: policy.unattendedHigh,
        // The process says it, not the settings: a window of an earlier daemon may run without the sandbox that is planned now.
        walled: live.agent.session?.walled === true,
      },
      signal,
    )
    return { assessment, decision, suggestion }
  } catch (error) {
    live.log.error({ error, tool: request.tool }, 'the policy failed')
    return { decision: FAILED }
  }
}

/** Advice without any confidence suggests nothing. */
function suggestionIn({ approve, confidence, by, reasoning }: PermissionAdvice): Suggestion | undefined {
  return confidence > 0 ? { answer: [approve ? 'allow' : 'deny'], confidence, by, reasoning } : undefined
}

const FAILED: Decision = {
  verdict: 'deny',
  risk: 'HIGH',
  reason: 'the policy failed on it; go on another way, or leave it and say so in your report',
  confidence: 1,
  by: 'policy',
}

interface RefusedRequest {
  request: Request
  judgement: Judgement
  verdict: Verdict
  signal: AbortSignal
}

/**
 * The escalation that tells a person in the morning of a call that was refused because nobody was there. None for a call
 * that a rule or a person refused, and none for a withdrawn call: its session was stopped, and nobody waits for an answer.
 */
export function refusalRow(
  { request, judgement, verdict, signal }: RefusedRequest,
  live: LiveSession,
): NewEscalation | undefined {
  const { assessment, decision } = judgement
  const isUnasked = decision.morning === true || (verdict.by === 'nobody' && !signal.aborted)
  if (!assessment || !isUnasked || verdict.verdict === 'allow') return undefined
  const reason = assessment.reasons[0]?.text ?? decision.reason
  const bound = boundTo({ request, assessment, decision }, live)
  return { ...permissionRow({ request, assessment, reason, risk: verdict.risk }, live), bound, state: 'denied' }
}

interface PermissionRowInput {
  request: Request
  assessment: Assessment
  reason: string
  risk: Risk
}

/** The columns of an escalation about a call, apart from its state. */
export function permissionRow(
  { request, assessment, reason, risk }: PermissionRowInput,
  live: LiveSession,
): Omit<NewEscalation, 'state'> {
  return {
    kind: 'permission',
    session_id: live.id,
    project: live.row.project,
    task: live.row.task,
    task_id: live.row.task_id,
    spelling: spellingOf(assessment.normalised, live.row),
    call_id: request.callId,
    tool: request.tool,
    target: targetOf(request.input, workDirectory(live.row)),
    input: request.input,
    risk,
    reason: tellPerson(reason, { request, assessment }, live),
    reasons: storedReasons(assessment),
    normalised: assessment.normalised,
  }
}

/** The reason in the words that a person sees: a yes to a call that names a path which the sandbox hides does nothing to that path. */
export function tellPerson(
  reason: string,
  { request, assessment }: Pick<PermissionRowInput, 'request' | 'assessment'>,
  { agent, settings }: LiveSession,
): string {
  const { sandbox } = settings.open
  if (agent.session?.walled !== true || !sandbox) return reason
  const { file_path, path, notebook_path } = request.input
  const named = [file_path, path, notebook_path].filter(value => typeof value === 'string')
  const paths = [...named, ...assessment.pieces.flatMap(listArguments), ...assessment.reasons.flatMap(findOutside)]
  const hidden = findHiddenPath(paths, { ...settings.policy, settings: sandbox })
  if (hidden === undefined) return reason
  return `the sandbox hides ${hidden} of this machine, so a yes does not reach it: do it yourself, or name its folder in agents.sandbox_write; ${reason}`
}

function listArguments({ argv = [], pieces }: Piece): string[] {
  return [...argv.slice(1), ...pieces.flatMap(listArguments)]
}

/** The target of a redirection is no argument. */
function findOutside({ code, text }: Assessment['reasons'][number]): string[] {
  return code === 'path.outside' ? [text.replace(/ is outside the project$/, '')] : []
}

/** A longer input cannot be shown whole, so it cannot be approved later: the call is refused at once. */
const MAX_INPUT = 4_000

interface WaitingPermission {
  request: Request
  decision: Decision
  assessment: Assessment
  suggestion: Suggestion | undefined
  /** The id under which a terminal asked, if one did: the person there can still answer by it. */
  askId: string
}

/** Whether a call can be parked: not a subagent's call, and not one that could not be shown whole. */
export function isParkable({ agentId, input }: Request): boolean {
  return agentId === undefined && JSON.stringify(input).length <= MAX_INPUT
}

/** Parks a call until somebody answers; no process waits. */
export function parkPermission(
  { request, decision, assessment, suggestion, askId }: WaitingPermission,
  live: LiveSession,
): Park {
  const { tool, input, callId } = request
  const reason = `${decision.risk} risk: ${decision.reason}; it waits for a person`
  live.agent.parking.set(callId, {
    parked: {
      ask_id: askId,
      call_id: callId,
      tool,
      target: targetOf(input, workDirectory(live.row)),
      risk: decision.risk,
      reason: tellPerson(decision.reason, { request, assessment }, live),
      reasons: storedReasons(assessment),
      ...(suggestion && { suggestion }),
      digest: callDigest(tool, input),
      ...(assessment.files && { files: assessment.files }),
    },
    reason,
    escalation: {
      ...permissionRow({ request, assessment, reason: decision.reason, risk: decision.risk }, live),
      ...(suggestion && { context: { suggestion } }),
      state: 'open',
    },
  })
  live.log.info({ tool }, 'permission parked')
  return { park: true, reason }
}

/**
 * The answer with which a parked session was started again, if it is for this very call with this very input. A yes is for the
 * files that the call runs too: with other ones the call is judged anew.
 */
export function answerToPermission(
  request: Request,
  { decision, assessment }: Judgement,
  live: LiveSession,
): Verdict | undefined {
  const given = live.agent.answer
  if (!given || !('digest' in given)) return undefined
  const isAgain = given.anew === true && given.digest === callDigest(request.tool, request.input)
  if (given.callId !== request.callId && !isAgain) return undefined
  live.agent.answer = undefined
  // No answer overrides a rule, a blocked command or missing trust, nor a failure of the policy.
  if (!assessment || (decision.verdict === 'deny' && decision.by === 'rule')) return undefined
  const { verdict, reason, by } = given
  const { risk } = decision
  if (verdict === 'deny') {
    return { verdict, risk, reason: reason ?? 'a person said no; go on without it', confidence: 1, by }
  }
  if (given.digest !== callDigest(request.tool, request.input)) {
    return { verdict: 'deny', risk, reason: CHANGED, confidence: 1, by: 'nobody' }
  }
  if (!isDeepStrictEqual(given.files, assessment.files)) {
    live.log.warn({ tool: request.tool }, 'a file that the approved call runs has changed')
    return undefined
  }
  return { verdict, risk, reason: reason ?? 'approved by a person', confidence: 1, by }
}

const CHANGED = 'it is not the call that a person approved; go on without it'

/** Whether the session was parked on this call. */
export function wasParkedOn(request: Request, { row }: LiveSession): boolean {
  return row.parked !== null && isPermission(row.parked) && row.parked.call_id === request.callId
}
