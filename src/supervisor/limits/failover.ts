import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import { nextAllowedTime } from '../../agents/limits/resume-times.ts'
import type { AgentChoice, HandOver, HandOverCause, RestingAgent } from '../../domain/agent-choice.ts'
import { findManifest } from '../../domain/agents/find-manifest.ts'
import type { NewEvent } from '../../domain/event.ts'
import { FAULT_NAMES, FAULTS, faultOf } from '../../domain/limit.ts'
import { ACCOUNT_FAULTS, type FailureKind } from '../../domain/session.ts'
import type { SessionRow } from '../../store/tables.ts'
import { chosenAgent, prepareResumed, type SupervisorContext } from '../context.ts'
import type { LiveSession, LiveSessionEnding } from '../session/context.ts'
import type { PreparedSession } from '../session/prepare.ts'
import type { FailoverSettings } from '../session/settings.ts'
import { isStillWaiting } from '../session/settle.ts'
import {
  type AgentCandidate,
  type CurrentAgentState,
  chooseNext,
  type FailoverChoice,
  readAgentFacts,
} from './choose-agent.ts'

/**
 * The ending of a session whose agent cannot go on with its task. If another agent can take the task, the row changes to that agent
 * in the transaction of the ending, and the session resumes at once. It is still one session with one process: the next agent is started
 * as on any resume, after the first is proven to be gone.
 */
export async function endingWithFailover(
  ending: LiveSessionEnding,
  live: LiveSession,
  ready: PreparedSession,
  supervisor: SupervisorContext,
): Promise<LiveSessionEnding> {
  const { failover } = ready
  if (failover.order.length < 2) return ending
  const { row } = live
  const admission = await supervisor.deps.accounts.admits({ row })
  const state = readStateAtEnd(ending, live, admission, failover.costUsd)
  if (!state) return ending
  const env = supervisor.kept.of(row.id) ?? live.settings.open.env
  const { choice, agents } = await chooseAgent({ row, env, state, failover }, supervisor)
  const now = supervisor.deps.clock.now()
  if (!('go' in choice)) return wakeSooner(ending, choice.lookAt, now)
  const at = nextAllowedTime(choice.at, live.settings.consent)
  const change = at === null ? undefined : agentChangeFor(row, { choice, agents, now, problem: readProblem(ending) })
  if (at === null || !change) return ending
  const { reason, event, patch } = change
  const task = ending.task?.to === 'done' ? ending.task : { to: 'waiting' as const, reason, wakesAt: at }
  const events = [...(ending.events ?? []), event]
  const { failure: _, escalation: __, ...rest } = ending
  return { ...rest, as: 'paused', reason, resumesAt: at, retries: 0, events, task, patch }
}

/** Checks once more, when the time of a waiting session has come, whether another agent takes over. Returns the row as it is then. */
export async function reconsider(
  row: SessionRow,
  env: Record<string, string>,
  supervisor: SupervisorContext,
): Promise<SessionRow> {
  const admission = await supervisor.deps.accounts.admits({ row })
  const state = readStateWhileWaiting(row, admission)
  if (!state || (state.why === 'works' && !row.options.handed)) return row
  const { failover, consent } = await prepareResumed(row, env, supervisor)
  if (failover.order.length < 2) return row
  const { store, clock } = supervisor.deps
  const now = clock.now()
  const { choice, agents } = await chooseAgent({ row, env, state, failover }, supervisor)
  if (!('go' in choice) || nextAllowedTime(now, consent) !== now) return row
  const change = agentChangeFor(row, { choice, agents, now })
  if (!change) return row
  return store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) return row
    const patch = { ...change.patch, retries: 0, resumes_at: choice.at, status_reason: change.reason }
    await store.sessions.update(row.id, patch, tx)
    await tx.append([change.event])
    return { ...row, ...patch }
  })
}

interface FailoverInput {
  row: SessionRow
  env: Record<string, string>
  state: CurrentAgentState
  failover: FailoverSettings
}

async function chooseAgent({ row, env, state, failover }: FailoverInput, supervisor: SupervisorContext) {
  const { order, on, thresholdMs, costUsd } = failover
  const agents = await readAgentFacts({ row, env, order, supervisor })
  const now = supervisor.deps.clock.now()
  const changedAt = row.options.handed?.at
  const choice = chooseNext({ now, order: agents, current: row.agent, state, changedAt, thresholdMs, on, costUsd })
  return { choice, agents }
}

interface AgentChangeInput {
  choice: Extract<FailoverChoice, { go: string }>
  agents: AgentCandidate[]
  now: number
  /** Why the agent before could not begin. */
  problem?: string | undefined
}

function agentChangeFor(row: SessionRow, { choice, agents, now, problem }: AgentChangeInput) {
  const next = agents.find(({ name }) => name === choice.go)
  if (next?.account === undefined) return undefined
  const { cause } = choice
  // The time of a fault's gate only says when it is tried again.
  const until = isAccountFault(cause) ? undefined : findOpening(agents, row.agent)
  const closedUntil = until !== undefined && until > now ? until : null
  const patch = handOverPatch(row, { to: next.choice, account: next.account, cause, now, until: closedUntil })
  const from = findManifest(chosenAgent(row)).name
  const to = findManifest(next.choice).name
  const reason = `${to} goes on in place of ${from}: ${problem ?? WHY[cause]}`
  const when = closedUntil === null ? {} : { until: closedUntil }
  const body = { from: row.agent, to: next.name, why: cause, ...when, ...(problem !== undefined && { problem }) }
  const event: NewEvent = { actor: 'daemon', subject: row.id, kind: 'agent.changed', body }
  return { patch, reason, event }
}

const WHY: Record<HandOverCause, string> = {
  limit: 'its limit lasts longer than the wait that is set',
  login: 'its account needs a login',
  credit: 'its account needs credit',
  outage: 'its vendor does not answer',
  cost: 'it has spent what one agent may spend',
  broken: 'it could not begin',
  return: 'it comes first, and its vendor lets it work again',
}

function readProblem({ as, reason, failure }: LiveSessionEnding): string | undefined {
  return as === 'error' || isFault(failure) ? (reason.split('\n')[0] ?? '').slice(0, 300) : undefined
}

function isAccountFault(cause: HandOverCause): boolean {
  return FAULT_NAMES.some(fault => fault === cause)
}

function findOpening(agents: AgentCandidate[], name: string): number | undefined {
  return agents.find(agent => agent.name === name)?.opensAt
}

/** The session is checked again when another agent could take the task, if that is before its own time. */
function wakeSooner(ending: LiveSessionEnding, lookAt: number | undefined, now: number): LiveSessionEnding {
  if (lookAt === undefined || ending.resumesAt === undefined || lookAt >= ending.resumesAt) return ending
  return { ...ending, resumesAt: Math.max(lookAt, now + 1_000) }
}

/** Failures of an agent that was handed a task, before it has done anything: they say nothing about the task. */
const CANNOT_BEGIN = new Set<FailureKind>([
  ...FAULT_NAMES.map(fault => FAULTS[fault].failure),
  'agent_missing',
  'agent_crashed',
  'model_not_found',
  'other',
])

/** The state of the agent when its session ends; undefined if no other agent could help. */
function readStateAtEnd(
  ending: LiveSessionEnding,
  live: LiveSession,
  admission: AccountAdmission,
  costUsd: number | undefined,
): CurrentAgentState | undefined {
  if (
    ending.held ||
    live.agent.hasSurvivors ||
    live.control.stopping !== undefined ||
    live.control.pausing === 'person'
  )
    return undefined
  const { handed, host } = live.row.options
  // In a terminal a person has chosen the agent.
  if (host !== undefined) return undefined
  const { failure } = ending
  if (
    handed &&
    !live.agent.answered &&
    failure &&
    CANNOT_BEGIN.has(failure) &&
    (ending.as === 'error' || isFault(failure) || failure === 'model_not_found')
  )
    return { why: 'broken' }
  if (ending.as === 'error') return undefined
  if (ending.resumesAt === undefined || ending.task?.to === 'verifying') return undefined
  const spent = live.row.cost_usd - (handed?.cost_usd ?? 0)
  if (costUsd !== undefined && spent >= costUsd) return { why: 'cost', spent }
  if (ending.as === 'rate_limited' || isFault(failure)) return stateAtGate(admission)
  return ending.as === 'paused' && ending.retries ? { why: 'outage', tries: ending.retries } : undefined
}

/** The same for a session that waits. */
function readStateWhileWaiting(row: SessionRow, admission: AccountAdmission): CurrentAgentState | undefined {
  if (row.parked !== null || row.held_at !== null || row.options.host !== undefined) return undefined
  if (!admission.open && admission.why === 'held') return undefined
  const isShutByFault = !admission.open && faultOf(admission.gate) !== undefined
  if (row.retries > 0 && !isShutByFault) return { why: 'outage', tries: row.retries }
  return stateAtGate(admission)
}

function isFault(failure: FailureKind | undefined): boolean {
  return failure !== undefined && ACCOUNT_FAULTS[failure] !== undefined
}

function stateAtGate(admission: AccountAdmission): CurrentAgentState {
  if (admission.open || admission.why !== 'limit') return { why: 'works' }
  const fault = faultOf(admission.gate)
  return fault ? { why: fault } : { why: 'limit', until: admission.until }
}

export interface AgentChange {
  to: AgentChoice
  account: string
  cause: HandOverCause
  now: number
  /** When the vendor of the leaving agent lets it work again. */
  until: number | null
}

type AgentColumns = Pick<SessionRow, 'agent' | 'account' | 'vendor_id' | 'model' | 'options'>

/**
 * The columns of a session that another agent takes over. They keep the conversation of the agent that leaves; an agent that comes back
 * finds its own again. Pure.
 */
export function handOverPatch(
  row: AgentColumns & Pick<SessionRow, 'cost_usd'>,
  { to, account, cause, now, until }: AgentChange,
): AgentColumns {
  const before = row.options.handed
  const returning = before?.resting.find(({ choice }) => choice.name === to.name)
  const leaving: RestingAgent = {
    choice: row.options.chosen ?? { kind: 'claude', name: row.agent },
    ...{ account: row.account, vendor_id: row.vendor_id, model: row.model, left_at: now, until, why: cause },
  }
  const others = (before?.resting ?? []).filter(({ choice }) => choice.name !== to.name && choice.name !== row.agent)
  const handed: HandOver = {
    resting: [...others, leaving],
    broken: [...(before?.broken ?? []), ...(cause === 'broken' ? [row.agent] : [])],
    ...{ at: now, from: row.agent, why: cause, cost_usd: row.cost_usd },
    ...(returning && { away_since: returning.left_at }),
  }
  const model = returning?.model ?? null
  const { model: _, resume: __, ...options } = row.options
  return {
    agent: to.name,
    account,
    vendor_id: returning?.vendor_id ?? null,
    model,
    options: { ...options, ...(model !== null && { model }), chosen: to, handed },
  }
}
