import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import { nextAllowedTime } from '../../agents/limits/resume-times.ts'
import { findManifest } from '../../agents/manifests/manifests.ts'
import type { AgentChoice, HandOver, HandOverCause, RestingAgent } from '../../domain/agent-choice.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { FailureKind } from '../../domain/session.ts'
import type { SessionRow } from '../../store/tables.ts'
import { chosenAgent, prepareResumed, type SupervisorContext } from '../context.ts'
import type { LiveSession, LiveSessionEnding } from '../session/context.ts'
import type { PreparedSession } from '../session/prepare.ts'
import type { FailoverSettings } from '../session/settings.ts'
import { isStillWaiting } from '../session/settle.ts'
import {
  type AgentCandidate,
  type AgentStanding,
  chooseNext,
  type FailoverChoice,
  readAgentFacts,
} from './choose-agent.ts'

/**
 * The ending of a session whose agent is in the way of its task: where another one can take it, the row goes over to that one with the
 * ending itself, in one transaction, and it goes on at once. It is still one session with one process: the next agent is started as every
 * session goes on, after the first is proven to be gone.
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
  const standing = standingAtEnd(ending, live, admission, failover.costUsd)
  if (!standing) return ending
  const env = supervisor.kept.of(row.id) ?? live.open.env
  const { choice, agents } = await chooseFor({ row, env, standing, failover }, supervisor)
  const now = supervisor.deps.clock.now()
  if (!('go' in choice)) return sooner(ending, choice.lookAt, now)
  const at = nextAllowedTime(choice.at, live.consent)
  const change = at === null ? undefined : changeFor(row, { choice, agents, now, problem: problemIn(ending) })
  if (at === null || !change) return ending
  const { reason, event, patch } = change
  const task = ending.task?.to === 'done' ? ending.task : { to: 'waiting' as const, reason, wakesAt: at }
  const events = [...(ending.events ?? []), event]
  const { failure: _, escalation: __, ...rest } = ending
  return { ...rest, as: 'paused', reason, resumesAt: at, retries: 0, events, task, patch }
}

/** A session that waits is looked at once more when its time has come: its row, as it is then. */
export async function reconsider(
  row: SessionRow,
  env: Record<string, string>,
  supervisor: SupervisorContext,
): Promise<SessionRow> {
  const admission = await supervisor.deps.accounts.admits({ row })
  const standing = standingWhileWaiting(row, admission)
  if (!standing || (standing.why === 'works' && !row.options.handed)) return row
  const { failover, consent } = await prepareResumed(row, env, supervisor)
  if (failover.order.length < 2) return row
  const { store, clock } = supervisor.deps
  const now = clock.now()
  const { choice, agents } = await chooseFor({ row, env, standing, failover }, supervisor)
  if (!('go' in choice) || nextAllowedTime(now, consent) !== now) return row
  const change = changeFor(row, { choice, agents, now })
  if (!change) return row
  return store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) return row
    const patch = { ...change.patch, retries: 0, resumes_at: choice.at, status_reason: change.reason }
    await store.sessions.update(row.id, patch, tx)
    await tx.append([change.event])
    return { ...row, ...patch }
  })
}

interface FailoverQuestion {
  row: SessionRow
  env: Record<string, string>
  standing: AgentStanding
  failover: FailoverSettings
}

async function chooseFor({ row, env, standing, failover }: FailoverQuestion, supervisor: SupervisorContext) {
  const { order, on, thresholdMs, costUsd } = failover
  const agents = await readAgentFacts({ row, env, order, supervisor })
  const now = supervisor.deps.clock.now()
  const changedAt = row.options.handed?.at
  const choice = chooseNext({ now, order: agents, current: row.agent, standing, changedAt, thresholdMs, on, costUsd })
  return { choice, agents }
}

interface AgentChangeInput {
  choice: Extract<FailoverChoice, { go: string }>
  agents: AgentCandidate[]
  now: number
  /** Why the one before could not begin. */
  problem?: string | undefined
}

function changeFor(row: SessionRow, { choice, agents, now, problem }: AgentChangeInput) {
  const next = agents.find(({ name }) => name === choice.go)
  if (next?.account === undefined) return undefined
  const { cause } = choice
  const until = opensAt(agents, row.agent)
  const shutUntil = until !== undefined && until > now ? until : null
  const patch = handOverPatch(row, { to: next.choice, account: next.account, cause, now, until: shutUntil })
  const from = findManifest(chosenAgent(row)).name
  const to = findManifest(next.choice).name
  const reason = `${to} goes on in place of ${from}: ${problem ?? WHY[cause]}`
  const when = shutUntil === null ? {} : { until: shutUntil }
  const body = { from: row.agent, to: next.name, why: cause, ...when, ...(problem !== undefined && { problem }) }
  const event: NewEvent = { actor: 'daemon', subject: row.id, kind: 'agent.changed', body }
  return { patch, reason, event }
}

const WHY: Record<HandOverCause, string> = {
  limit: 'its limit lasts longer than it is waited for',
  outage: 'its vendor does not answer',
  cost: 'it has spent what one agent may spend',
  broken: 'it could not begin',
  return: 'it comes first, and its vendor lets it work again',
}

function problemIn({ as, reason }: LiveSessionEnding): string | undefined {
  return as === 'error' ? (reason.split('\n')[0] ?? '').slice(0, 300) : undefined
}

function opensAt(agents: AgentCandidate[], name: string): number | undefined {
  return agents.find(agent => agent.name === name)?.opensAt
}

/** It is looked at again when somebody else could take it, where that is before its own time. */
function sooner(ending: LiveSessionEnding, lookAt: number | undefined, now: number): LiveSessionEnding {
  if (lookAt === undefined || ending.resumesAt === undefined || lookAt >= ending.resumesAt) return ending
  return { ...ending, resumesAt: Math.max(lookAt, now + 1_000) }
}

/** What an agent that was handed a task may fail with before it has done a thing: it says nothing of the task. */
const CANNOT_BEGIN = new Set<FailureKind>([
  'auth',
  'billing',
  'agent_missing',
  'agent_crashed',
  'model_not_found',
  'other',
])

/** How its agent stands at the end of a session's life; nothing where no other agent could help. */
function standingAtEnd(
  ending: LiveSessionEnding,
  live: LiveSession,
  admission: AccountAdmission,
  costUsd: number | undefined,
): AgentStanding | undefined {
  if (ending.held || live.hasSurvivors || live.stopping !== undefined || live.pausing === 'person') return undefined
  const { handed, host } = live.row.options
  // A person has chosen that terminal, and who is in it.
  if (host !== undefined) return undefined
  if (ending.as === 'error') {
    const isStuck = handed && !live.answered && ending.failure !== undefined && CANNOT_BEGIN.has(ending.failure)
    return isStuck ? { why: 'broken' } : undefined
  }
  if (ending.resumesAt === undefined || ending.task?.to === 'verifying') return undefined
  const spent = live.row.cost_usd - (handed?.cost_usd ?? 0)
  if (costUsd !== undefined && spent >= costUsd) return { why: 'cost', spent }
  if (ending.as === 'rate_limited') return atGate(admission)
  return ending.as === 'paused' && ending.retries ? { why: 'outage', tries: ending.retries } : undefined
}

/** The same for one that waits. */
function standingWhileWaiting(row: SessionRow, admission: AccountAdmission): AgentStanding | undefined {
  if (row.parked !== null || row.held_at !== null || row.options.host !== undefined) return undefined
  if (!admission.open && admission.why === 'held') return undefined
  if (row.retries > 0) return { why: 'outage', tries: row.retries }
  return atGate(admission)
}

function atGate(admission: AccountAdmission): AgentStanding {
  return !admission.open && admission.why === 'limit' ? { why: 'limit', until: admission.until } : { why: 'works' }
}

export interface AgentChange {
  to: AgentChoice
  account: string
  cause: HandOverCause
  now: number
  /** When the vendor of the one that leaves lets it go on. */
  until: number | null
}

type AgentColumns = Pick<SessionRow, 'agent' | 'account' | 'vendor_id' | 'model' | 'options'>

/**
 * The row of a session that another agent goes on with. The one that leaves keeps its conversation there; one that comes back finds its
 * own again. Pure.
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
