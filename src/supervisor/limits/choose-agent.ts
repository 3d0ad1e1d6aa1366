import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { Alarm } from '../../base/keyed-worker.ts'
import type { Log } from '../../base/log.ts'
import type { AgentChoice, HandOverCause } from '../../domain/agent-choice.ts'
import { findManifest } from '../../domain/agents/find-manifest.ts'
import type { AccountFault } from '../../domain/limit.ts'
import type { SessionRow } from '../../store/tables.ts'
import { prepareSession, type SupervisorContext } from '../context.ts'
import type { LiveSession } from '../session/context.ts'
import { pauseForGate } from '../session/stop-agent.ts'

/** What is known of one agent of `failover.agents`. */
export interface AgentFacts {
  name: string
  /** When its vendor lets it work; a past time means now. Undefined if a person holds its account. */
  opensAt: number | undefined
  /** Why it may not be used at all: it is not installed, may not run unattended, or could not begin here. */
  refused?: string | undefined
  /** When it last stopped working on this task; undefined if it never worked on it. */
  leftAt?: number | undefined
  /** Whether it has a conversation about the task that it can resume. */
  talks?: boolean | undefined
}

/** The state of the agent at work. */
export type CurrentAgentState =
  | { why: 'limit'; until: number }
  /** A person has to mend its account, and nobody knows when. */
  | { why: AccountFault }
  | { why: 'outage'; tries: number }
  | { why: 'cost'; spent: number }
  /** The agent was handed the task and could not begin. */
  | { why: 'broken' }
  /** Nothing keeps the agent from working. */
  | { why: 'works' }

export interface FailoverFacts {
  now: number
  /** The agents in the order of the settings. */
  order: AgentFacts[]
  current: string
  state: CurrentAgentState
  /** When the task last went to another agent. */
  changedAt: number | undefined
  thresholdMs: number
  on: readonly string[]
  costUsd: number | undefined
}

export type FailoverChoice =
  | { go: string; cause: HandOverCause; at: number }
  /** `lookAt`: when another agent could take the task, where that is known. */
  | { stay: string; lookAt?: number | undefined }

/** Consecutive failures, each after the agent's own retries, that count as an outage. */
const OUTAGE_TRIES = 2

/**
 * Chooses the agent that goes on with a task, and says why. Pure. An agent that may not be used is never chosen. An agent that left
 * the task gets it back only after the threshold, so that the task does not go back and forth. An agent that is earlier in the order
 * and has a conversation about the task gets it back when its vendor lets it work.
 */
export function chooseNext(facts: FailoverFacts): FailoverChoice {
  const { order, current, state, now } = facts
  const index = order.findIndex(({ name }) => name === current)
  if (index < 0 || order.length < 2) return { stay: 'its agent is not one of several in failover.agents' }
  const others = order.filter(({ name }) => name !== current)
  const earlier = order.slice(0, index).find(agent => agent.talks && readyAt(agent, facts) <= now)
  if (earlier && state.why !== 'broken' && state.why !== 'cost' && hasStayedLongEnough(facts))
    return { go: earlier.name, cause: 'return', at: now }
  if (!shouldLeave(facts)) return { stay: `${current} goes on` }
  const candidates = state.why === 'cost' ? order.slice(index + 1) : others
  const free = candidates.find(agent => readyAt(agent, facts) <= now)
  if (free) return { go: free.name, cause: handOverCause(state), at: now }
  if (state.why === 'broken') return waitWithFormer(others, facts)
  const lookAt = Math.min(...candidates.map(agent => readyAt(agent, facts)))
  return { stay: 'nobody else can take it now', ...(Number.isFinite(lookAt) && { lookAt }) }
}

/** Whether the current agent should leave the task to another. */
function shouldLeave({ state, thresholdMs, on, now, costUsd }: FailoverFacts): boolean {
  switch (state.why) {
    case 'limit':
      return on.includes('limit') && state.until - now > thresholdMs
    case 'login':
    case 'credit':
      return on.includes('limit')
    case 'outage':
      return on.includes('outage') && state.tries >= OUTAGE_TRIES
    case 'cost':
      return costUsd !== undefined && state.spent >= costUsd
    case 'broken':
      return true
    case 'works':
      return false
  }
}

/** The time from which an agent could take the task. */
function readyAt({ opensAt, refused, leftAt }: AgentFacts, { thresholdMs }: FailoverFacts): number {
  if (refused !== undefined || opensAt === undefined) return Number.POSITIVE_INFINITY
  return leftAt === undefined ? opensAt : Math.max(opensAt, leftAt + thresholdMs)
}

function hasStayedLongEnough({ changedAt, thresholdMs, now }: FailoverFacts): boolean {
  return changedAt === undefined || now - changedAt >= thresholdMs
}

/** No agent is free, and the current one cannot begin: the task goes to the former agent that is ready first, and waits for its time. */
function waitWithFormer(others: AgentFacts[], facts: FailoverFacts): FailoverChoice {
  const former = others.filter(agent => agent.leftAt !== undefined && Number.isFinite(readyAt(agent, facts)))
  const first = former.toSorted((a, b) => readyAt(a, facts) - readyAt(b, facts))[0]
  return first
    ? { go: first.name, cause: 'broken', at: Math.max(facts.now, readyAt(first, facts)) }
    : { stay: 'nobody else can take it' }
}

function handOverCause(state: CurrentAgentState): HandOverCause {
  return state.why === 'works' ? 'return' : state.why
}

/** One agent of the order, and the account that it would use. */
export interface AgentCandidate extends AgentFacts {
  choice: AgentChoice
  account: string | undefined
}

interface AgentFactsInput {
  row: SessionRow
  env: Record<string, string>
  order: AgentChoice[]
  supervisor: SupervisorContext
}

/** Reads the facts of every agent of the order: each is prepared as if it were to begin, and refused for the same reasons. */
export async function readAgentFacts({ row, env, order, supervisor }: AgentFactsInput): Promise<AgentCandidate[]> {
  const candidates: AgentCandidate[] = []
  for (const choice of order) candidates.push(await readAgent(choice, { row, env, supervisor }))
  return candidates
}

async function readAgent(
  choice: AgentChoice,
  { row, env, supervisor }: Omit<AgentFactsInput, 'order'>,
): Promise<AgentCandidate> {
  const { name } = choice
  const { options, agent, account } = row
  const handed = options.handed
  const resting = handed?.resting.find(other => other.choice.name === name)
  const leftAt = resting?.left_at
  // An agent that cannot resume a conversation would be told that it is back, and would know nothing of the task.
  const talks = typeof resting?.vendor_id === 'string' && findManifest(choice).resume !== 'none'
  const facts = { name, choice, leftAt, talks, account: name === agent ? (account ?? undefined) : undefined }
  if (handed?.broken.includes(name)) return { ...facts, opensAt: undefined, refused: 'it could not begin here' }
  if (name === agent) return { ...facts, opensAt: findOpening(await supervisor.deps.accounts.admits({ row })) }
  try {
    const { model: _, agent: __, resume: ___, ...rest } = options
    const ready = await prepareSession({ ...rest, chosen: choice, project: row.project, env }, supervisor)
    const admission = await supervisor.deps.accounts.admits({ row: { ...row, account: ready.account } })
    const refused = ready.mayRunUnattended ? undefined : `${ready.manifest.name} may not run unattended`
    return { ...facts, account: ready.account, opensAt: findOpening(admission), refused }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...facts, opensAt: undefined, refused: error.message }
  }
}

/** An open account has been open since time 0: the clock moves on between this and the comparison. */
function findOpening(admission: AccountAdmission): number | undefined {
  if (admission.open) return 0
  return admission.why === 'held' ? undefined : admission.until
}

/** Checked regularly: costs change only when they are reported, and others may open an account. */
const CHECK_MS = 15_000

interface FailoverWatchDeps {
  supervisor(): SupervisorContext
  clock: Clock
  log: Log
}

/**
 * Watches live sessions whose task could go to another agent: an earlier one may take it back, or the current one has spent what
 * one agent may spend. Such a session stops after the tool in flight; its ending decides what follows. Does nothing without failover.
 */
export class FailoverWatch extends Alarm {
  readonly #deps: FailoverWatchDeps

  constructor(deps: FailoverWatchDeps) {
    const failed = (error: unknown) => deps.log.error({ error }, 'could not check which tasks go to another agent')
    super({ look: () => this.#pauseChanging(), failed })
    this.#deps = deps
  }

  async #pauseChanging(): Promise<number | undefined> {
    const sessions = this.#deps.supervisor().sessions.all().filter(mayChangeAgent)
    for (const live of sessions) if (await this.#shouldChange(live)) pauseForGate(live)
    return sessions.length > 0 ? CHECK_MS : undefined
  }

  async #shouldChange(live: LiveSession): Promise<boolean> {
    const {
      row,
      settings: { failover },
    } = live
    if (!failover || live.control.pausing !== undefined || live.agent.session === undefined) return false
    const { order, on, thresholdMs, costUsd } = failover
    const state = readAgentState(live)
    const changedAt = row.options.handed?.at
    const now = this.#deps.clock.now()
    if (state.why === 'works' && changedAt !== undefined && now - changedAt < thresholdMs) return false
    const supervisor = this.#deps.supervisor()
    const env = supervisor.kept.of(row.id) ?? live.settings.open.env
    const agents = await readAgentFacts({ row, env, order, supervisor })
    const choice = chooseNext({ now, order: agents, current: row.agent, state, changedAt, thresholdMs, on, costUsd })
    return 'go' in choice
  }
}

function mayChangeAgent({ row, settings: { failover }, control: { over } }: LiveSession): boolean {
  if (over || !failover || failover.order.length < 2) return false
  return row.options.handed !== undefined || failover.costUsd !== undefined
}

function readAgentState({ row, settings: { failover } }: LiveSession): CurrentAgentState {
  const spent = row.cost_usd - (row.options.handed?.cost_usd ?? 0)
  const isTooCostly = failover?.costUsd !== undefined && spent >= failover.costUsd
  return isTooCostly ? { why: 'cost', spent } : { why: 'works' }
}
