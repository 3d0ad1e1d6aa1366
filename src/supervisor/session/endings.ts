import { unreachable } from '../../base/errors.ts'
import { quoteForShell } from '../../base/words.ts'
import { DEFAULT_AGENT } from '../../domain/agent-choice.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import { AGENTS, isAgentKind } from '../../domain/agents/agent-registry.ts'
import { agentMissingError, findManifest } from '../../domain/agents/find-manifest.ts'
import type { NewEscalation } from '../../domain/escalation.ts'
import type { NewEvent } from '../../domain/event.ts'
import { type AccountFault, FAULTS, type Limit } from '../../domain/limit.ts'
import type { Failure } from '../../domain/session.ts'
import { PAUSED_BY_PERSON } from '../../domain/session-end.ts'
import { notLoggedIn, vendorOf } from '../../domain/vendors.ts'
import { workDirectory } from '../../domain/worktree.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { needsCompletion } from '../completion/work.ts'
import { eventOf, type LiveSession, type LiveSessionEnding } from './context.ts'
import { isPermission } from './tool-call.ts'

/** The last task is done and nothing is left in the queue. Work that is to be merged is verified first. */
export function completed(text: string, { row }: Pick<LiveSession, 'row'>): LiveSessionEnding {
  return { as: 'completed', reason: '', task: { to: needsCompletion(row) ? 'verifying' : 'done', result: text } }
}

/**
 * A person, a cap on turns or an interruption stopped the session; a person resumes it. `text` is set where its task was
 * completed first.
 */
export function paused(
  why: 'person' | 'interrupted' | 'turns',
  live: LiveSession,
  { text, limit }: { text?: string; limit?: Limit } = {},
): LiveSessionEnding {
  const cause = { person: PAUSED_BY_PERSON, interrupted: 'interrupted', turns: 'the turn limit was reached' }[why]
  const reason = `${cause}; go on with: pcc resume ${live.id}`
  return {
    as: 'paused',
    reason,
    events: limitHit(limit, live),
    task: taskAfter(text, cause),
    checkpoint: why === 'turns' ? 'capped' : 'pause',
  }
}

export interface LimitWait {
  /** When the session goes on by itself; null if a person has to resume it. */
  resumesAt: number | null
  limit?: Limit | undefined
  text?: string | undefined
}

/** The account is closed, by this session's own limit or by another's. */
export function limited(message: string, { resumesAt, limit, text }: LimitWait, live: LiveSession): LiveSessionEnding {
  const reason = resumesAt === null ? `${message}; go on with: pcc resume ${live.id}` : message
  return {
    as: 'rate_limited',
    reason,
    failure: 'limit',
    resumesAt: resumesAt ?? undefined,
    events: limitHit(limit, live),
    task: taskAfter(text, message, resumesAt),
    checkpoint: 'limit',
  }
}

/**
 * The account cannot be used until a person has mended something. That is no failure of the task: the session waits without a
 * process, counts no retry, and goes on by itself when the account works again.
 */
export function waitsForMending(
  fault: AccountFault,
  { reason, resumesAt, text }: { reason: string; resumesAt: number | null; text?: string | undefined },
  live: LiveSession,
): LiveSessionEnding {
  return {
    as: 'paused',
    reason: `${reason}\n${fault === 'login' ? howItGoesOn(live) : GOES_ON}`,
    failure: FAULTS[fault].failure,
    resumesAt: resumesAt ?? undefined,
    retries: live.row.retries,
    task: taskAfter(text, reason, resumesAt),
    checkpoint: 'error',
  }
}

const GOES_ON = 'The work goes on by itself then.'

/** A session keeps the key that it was started with, until a person resumes it, or its run, with another one. */
function howItGoesOn(live: LiveSession): string {
  return keyIn(live) === undefined ? GOES_ON : 'It also goes on by itself when the key of its start is accepted again.'
}

/** The variable from which the agent has its key; undefined if it has a stored login. */
function keyIn(live: LiveSession): string | undefined {
  return vendorOf(manifestIn(live).kind).credentials.find(([name]) => live.settings.open.env[name])?.[0]
}

function withNewKey(key: string, { id, row }: LiveSession): string {
  return `export ${key}=<new ${key.endsWith('TOKEN') ? 'token' : 'key'}> && pcc resume ${row.options.run?.id ?? id} --detach`
}

/** What a person does about an account that cannot be used. */
export function remedyFor(fault: AccountFault, live: LiveSession): string {
  switch (fault) {
    case 'login':
      return howToLogIn(live)
    case 'credit':
      return "Look at the account's balance and plan."
    default:
      return unreachable(fault)
  }
}

function howToLogIn(live: LiveSession): string {
  const { row, settings } = live
  const key = keyIn(live)
  if (key !== undefined) return withNewKey(key, live)
  const { credentials, login } = vendorOf(settings.driver.agent)
  const [variable] = credentials[0] ?? []
  if (variable === undefined) return notLoggedIn({ kind: settings.driver.agent, name: row.agent }).next
  // A key that is set later in some shell is not seen by what waits already.
  return `Log in with: ${login.command || 'the agent itself'}. Or, with a key: ${withNewKey(variable, live)}`
}

/** The event of a limit that was met on the way to an ending. */
export function limitHit(limit: Limit | undefined, live: LiveSession): NewEvent[] {
  if (!limit || limit.fault) return []
  const { message, window, resetsAt } = limit
  const when = { ...(window !== undefined && { window }), ...(resetsAt !== undefined && { resets_at: resetsAt }) }
  return [eventOf(live, 'limit.hit', { message, ...when })]
}

/** The vendor failed in a way that may pass; the session retries soon. */
export function retried(
  failure: Failure,
  { at, attempt, total }: { at: number; attempt: number; total: number },
): LiveSessionEnding {
  const reason = `${failure.message}; try ${attempt} of ${total} follows`
  return {
    as: 'paused',
    reason,
    failure: failure.kind,
    resumesAt: at,
    retries: attempt,
    task: { to: 'waiting', reason, wakesAt: at },
    checkpoint: 'error',
  }
}

/** The retries are used up: a person hears of the failure and decides. */
export function escalated(failure: Failure, live: LiveSession): LiveSessionEnding {
  const reason = `${failure.message}\nTried ${live.row.retries + 1} times; go on with: pcc resume ${live.id}`
  return {
    as: 'paused',
    reason,
    failure: failure.kind,
    task: { to: 'waiting', reason: failure.message },
    checkpoint: 'error',
    escalation: errorRow(failure, live.row, `${failure.message}; it was tried ${live.row.retries + 1} times`),
  }
}

/**
 * The agent does not know the conversation: it ended before it had saved any of it, or has lost it since. A new conversation
 * goes on at once from the checkpoint; a new conversation cannot fail in this way again.
 */
export function restarted(failure: Failure, now: number): LiveSessionEnding {
  const reason = `${failure.message}; a new conversation goes on from what was kept`
  return {
    ...{ as: 'paused', reason, failure: failure.kind, resumesAt: now, retries: 1, patch: { vendor_id: null } },
    task: { to: 'waiting', reason, wakesAt: now },
  }
}

/** Whether the program is there costs no call of the model, so it is looked for this often. */
const PROGRAM_CHECK_MS = 30_000

/** The agent's program is gone. That is no failure of the task: the session goes on by itself when the program is back. */
export function waitsForProgram(failure: Failure, live: LiveSession, now: number): LiveSessionEnding {
  const resumesAt = now + PROGRAM_CHECK_MS
  return {
    ...{ as: 'paused', failure: failure.kind, resumesAt, retries: Math.max(1, live.row.retries), checkpoint: 'error' },
    reason: `${failure.message}\n${adviceFor(failure, live)}\n${GOES_ON}`,
    task: { to: 'waiting', reason: failure.message, wakesAt: resumesAt },
  }
}

/** The vendor does not know the model. That is no failure of the task: the session goes on when a person has named another one. */
export function waitsForModel(failure: Failure, live: LiveSession): LiveSessionEnding {
  return {
    ...{ as: 'paused', failure: failure.kind, checkpoint: 'error' },
    reason: `${failure.message}\n${adviceFor(failure, live)}`,
    task: { to: 'waiting', reason: failure.message },
  }
}

/** A failure that does not pass by itself. */
export function failed(failure: Failure, live: LiveSession): LiveSessionEnding {
  const reason = `${failure.message}\n${adviceFor(failure, live)}`.trim()
  return { as: 'error', reason, failure: failure.kind, task: taskFailed(failure.message, live) }
}

/** The agent itself says that its task failed. */
export function gaveUp({ reason, text }: { reason: string; text: string }, live: LiveSession): LiveSessionEnding {
  const message = `The agent says that its task failed: ${reason}\nTry it again with: pcc retry ${live.id}`
  return { as: 'error', reason: message, failure: 'other', task: { ...taskFailed(reason, live), result: text } }
}

/** In a run, `runs/close-attempt.ts` decides from the attempts whether the task is retried. */
function taskFailed(reason: string, live: LiveSession): NonNullable<LiveSessionEnding['task']> {
  return live.row.options.run ? { to: 'ready', retry: true, reason } : { to: 'failed', reason }
}

export function stopped(reason: string, text?: string): LiveSessionEnding {
  return { as: 'stopped', reason, task: taskAfter(text, reason), checkpoint: 'shutdown' }
}

/** A call waits for a person. */
export function parked(
  { callId, gone }: { callId: string | undefined; gone?: boolean | undefined },
  live: LiveSession,
): LiveSessionEnding {
  const waiting =
    (callId === undefined ? undefined : live.agent.parking.get(callId)) ?? [...live.agent.parking.values()][0]
  if (!waiting)
    return { ...paused('interrupted', live), reason: `a call was parked; go on with: pcc resume ${live.id}` }
  return {
    as: 'waiting_input',
    reason: waiting.reason,
    parked: gone ? { ...waiting.parked, taken: true } : waiting.parked,
    escalation: waiting.escalation,
    events: [parkedEvent(waiting.parked, live)],
    task: { to: 'waiting', reason: waiting.reason },
    checkpoint: 'park',
  }
}

function parkedEvent(call: Parked, live: LiveSession): NewEvent {
  if (!isPermission(call)) return eventOf(live, 'question.parked', call, 'daemon')
  const { digest: _, files: __, ...body } = call
  return eventOf(live, 'permission.parked', body, 'daemon')
}

/** A completed task stays completed, whatever becomes of its session. */
export function taskAfter(
  text: string | undefined,
  reason: string,
  wakesAt?: number | null,
): NonNullable<LiveSessionEnding['task']> {
  if (text !== undefined) return { to: 'done', result: text }
  return { to: 'waiting', reason, ...(wakesAt != null && { wakesAt }) }
}

function adviceFor(failure: Failure, live: LiveSession): string {
  switch (failure.kind) {
    case 'auth':
      return remedyFor('login', live)
    case 'agent_missing':
      return agentMissingError(manifestIn(live), failure.message).next
    case 'billing':
      return remedyFor('credit', live)
    case 'model_not_found':
      return `pcc resume ${live.id} --model <model>`
    case 'prompt_too_long':
      return 'Give a shorter task, or split it.'
    case 'refusal':
      return 'The model refused; say the task in other words.'
    case 'resume_unknown':
      return `See the conversations there are with: pcc agents sessions ${quoteForShell(workDirectory(live.row))}`
    case 'overloaded':
    case 'server':
    case 'network':
    case 'agent_crashed':
    case 'nothing_parked':
    case 'limit':
    case 'other':
      return `Try it again with: pcc retry ${live.id}`
    default:
      return unreachable(failure.kind)
  }
}

function manifestIn({ row, settings: { driver } }: LiveSession): AgentManifest {
  return isAgentKind(driver.agent) ? AGENTS[driver.agent] : findManifest(row.options.chosen ?? DEFAULT_AGENT)
}

/** The escalation for a session that does not go on by itself. A yes retries it, a no leaves it. */
export function errorRow(failure: Failure, { id, project, task }: SessionRow, reason: string): NewEscalation {
  return {
    kind: 'error',
    session_id: id,
    project,
    task,
    call_id: '',
    tool: 'session',
    target: failure.message,
    input: { failure },
    risk: 'LOW',
    reason,
    reasons: [],
    normalised: `error ${failure.kind}`,
    state: 'open',
  }
}
