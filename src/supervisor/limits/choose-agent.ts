import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import { findManifest } from '../../agents/manifests/manifests.ts'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { AgentChoice, HandOverCause } from '../../domain/agent-choice.ts'
import type { SessionRow } from '../../store/tables.ts'
import { prepareSession, type SupervisorContext } from '../context.ts'
import type { LiveSession } from '../session/context.ts'
import { pauseForGate } from '../session/stop-agent.ts'
import { Alarm } from './alarm.ts'

/** What is known of one agent of the order. */
export interface AgentFacts {
  name: string
  /** When its vendor lets it work: a time that is over is now. Undefined where a person holds it. */
  opensAt: number | undefined
  /** Why it may not be used at all: it is not installed, not held enough, or could not begin here. */
  refused?: string | undefined
  /** When it last stopped working on this task; nothing where it never did. */
  leftAt?: number | undefined
  /** It has a conversation about the task, to which it can go back. */
  talks?: boolean | undefined
}

/** How the agent at work stands. */
export type AgentStanding =
  | { why: 'limit'; until: number | undefined }
  | { why: 'outage'; tries: number }
  | { why: 'cost'; spent: number }
  /** It was handed the task and could not begin. */
  | { why: 'broken' }
  /** Nothing is in its way. */
  | { why: 'works' }

export interface FailoverFacts {
  now: number
  /** In the order of the settings. */
  order: AgentFacts[]
  current: string
  standing: AgentStanding
  /** When the task last changed hands. */
  changedAt: number | undefined
  thresholdMs: number
  on: readonly string[]
  costUsd: number | undefined
}

export type FailoverChoice =
  | { go: string; cause: HandOverCause; at: number }
  /** `lookAt`: when another agent could take it, where that is known. */
  | { stay: string; lookAt?: number | undefined }

/** Failures in a row, each after the agent's own retries, that make an outage. */
const OUTAGE_TRIES = 2

/**
 * Which agent goes on with a task, and why. Pure. An agent that may not be used is never chosen; one that was left is not gone back to
 * before the threshold has passed, so that nothing goes to and fro; one that comes earlier in the order, and has a conversation about the
 * task, gets it back when its vendor lets it.
 */
export function chooseNext(facts: FailoverFacts): FailoverChoice {
  const { order, current, standing, now } = facts
  const place = order.findIndex(({ name }) => name === current)
  if (place < 0 || order.length < 2) return { stay: 'its agent is not one of several in failover.agents' }
  const others = order.filter(({ name }) => name !== current)
  const back = order.slice(0, place).find(agent => agent.talks && readyAt(agent, facts) <= now)
  if (back && standing.why !== 'broken' && standing.why !== 'cost' && hasStayed(facts))
    return { go: back.name, cause: 'return', at: now }
  if (!leaves(facts)) return { stay: `${current} goes on` }
  const candidates = standing.why === 'cost' ? order.slice(place + 1) : others
  const free = candidates.find(agent => readyAt(agent, facts) <= now)
  if (free) return { go: free.name, cause: causeOf(standing), at: now }
  if (standing.why === 'broken') return home(others, facts)
  const lookAt = Math.min(...candidates.map(agent => readyAt(agent, facts)))
  return { stay: 'nobody else can take it now', ...(Number.isFinite(lookAt) && { lookAt }) }
}

/** Whether the agent at work gives the task up. */
function leaves({ standing, thresholdMs, on, now, costUsd }: FailoverFacts): boolean {
  switch (standing.why) {
    case 'limit':
      return on.includes('limit') && (standing.until === undefined || standing.until - now > thresholdMs)
    case 'outage':
      return on.includes('outage') && standing.tries >= OUTAGE_TRIES
    case 'cost':
      return costUsd !== undefined && standing.spent >= costUsd
    case 'broken':
      return true
    case 'works':
      return false
  }
}

/** From when on an agent could take the task. */
function readyAt({ opensAt, refused, leftAt }: AgentFacts, { thresholdMs }: FailoverFacts): number {
  if (refused !== undefined || opensAt === undefined) return Number.POSITIVE_INFINITY
  return leftAt === undefined ? opensAt : Math.max(opensAt, leftAt + thresholdMs)
}

function hasStayed({ changedAt, thresholdMs, now }: FailoverFacts): boolean {
  return changedAt === undefined || now - changedAt >= thresholdMs
}

/** Nobody is free, and the one that has it cannot begin: it goes back to wait with one that can, once its time has come. */
function home(others: AgentFacts[], facts: FailoverFacts): FailoverChoice {
  const known = others.filter(agent => agent.leftAt !== undefined && Number.isFinite(readyAt(agent, facts)))
  const first = known.toSorted((a, b) => readyAt(a, facts) - readyAt(b, facts))[0]
  return first
    ? { go: first.name, cause: 'broken', at: Math.max(facts.now, readyAt(first, facts)) }
    : { stay: 'nobody else can take it' }
}

function causeOf(standing: AgentStanding): HandOverCause {
  return standing.why === 'works' ? 'return' : standing.why
}

/** One agent of the order as it is now, and the account that it would use. */
export interface AgentCandidate extends AgentFacts {
  choice: AgentChoice
  account: string | undefined
}

interface AgentLook {
  row: SessionRow
  env: Record<string, string>
  order: AgentChoice[]
  supervisor: SupervisorContext
}

/** What is known of every agent of the order for this session: each is prepared as if it were to begin, and refused as it would be then. */
export async function readAgentFacts({ row, env, order, supervisor }: AgentLook): Promise<AgentCandidate[]> {
  const looked: AgentCandidate[] = []
  for (const choice of order) looked.push(await readAgent(choice, { row, env, supervisor }))
  return looked
}

async function readAgent(
  choice: AgentChoice,
  { row, env, supervisor }: Omit<AgentLook, 'order'>,
): Promise<AgentCandidate> {
  const { name } = choice
  const { options, agent, account } = row
  const handed = options.handed
  const rests = handed?.resting.find(each => each.choice.name === name)
  const leftAt = rests?.left_at
  // One that cannot go on with a conversation would be told that it is back, and know of nothing.
  const talks = typeof rests?.vendor_id === 'string' && findManifest(choice).resume !== 'none'
  const known = { name, choice, leftAt, talks, account: name === agent ? (account ?? undefined) : undefined }
  if (handed?.broken.includes(name)) return { ...known, opensAt: undefined, refused: 'it could not begin here' }
  if (name === agent) return { ...known, opensAt: opening(await supervisor.deps.accounts.admits({ row })) }
  try {
    const { model: _, agent: __, resume: ___, ...rest } = options
    const ready = await prepareSession({ ...rest, chosen: choice, project: row.project, env }, supervisor)
    const admission = await supervisor.deps.accounts.admits({ row: { ...row, account: ready.account } })
    const refused = ready.heldEnough ? undefined : `${ready.manifest.name} is not held enough to work alone`
    return { ...known, account: ready.account, opensAt: opening(admission), refused }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...known, opensAt: undefined, refused: error.message }
  }
}

/** One that is open has been so for ever: clocks go on between two looks. */
function opening(admission: AccountAdmission): number | undefined {
  if (admission.open) return 0
  return admission.why === 'held' ? undefined : admission.until
}

/** What one agent costs is known only when it is told, and a gate may be opened by others. */
const LOOK_AGAIN_MS = 15_000

interface FailoverWatchDeps {
  supervisor(): SupervisorContext
  clock: Clock
  log: Log
}

/**
 * Looks at live sessions whose task could change hands: the one that had it first may have it back, or the one at work has spent what one
 * agent may. Such a session stops after the tool in flight; what follows is decided with its ending. Without failover it does nothing.
 */
export class FailoverWatch extends Alarm {
  readonly #deps: FailoverWatchDeps

  constructor(deps: FailoverWatchDeps) {
    const failed = (error: unknown) => deps.log.error({ error }, 'could not look whose turn it is')
    super({ look: () => this.#look(), failed })
    this.#deps = deps
  }

  async #look(): Promise<number | undefined> {
    const concerned = this.#deps.supervisor().sessions.all().filter(isConcerned)
    for (const live of concerned) if (await this.#changes(live)) pauseForGate(live)
    return concerned.length > 0 ? LOOK_AGAIN_MS : undefined
  }

  async #changes(live: LiveSession): Promise<boolean> {
    const { failover, row } = live
    if (!failover || live.pausing !== undefined || live.session === undefined) return false
    const { order, on, thresholdMs, costUsd } = failover
    const standing = standingNow(live)
    const changedAt = row.options.handed?.at
    const now = this.#deps.clock.now()
    if (standing.why === 'works' && changedAt !== undefined && now - changedAt < thresholdMs) return false
    const supervisor = this.#deps.supervisor()
    const env = supervisor.kept.of(row.id) ?? live.open.env
    const agents = await readAgentFacts({ row, env, order, supervisor })
    const choice = chooseNext({ now, order: agents, current: row.agent, standing, changedAt, thresholdMs, on, costUsd })
    return 'go' in choice
  }
}

function isConcerned({ failover, row, over }: LiveSession): boolean {
  if (over || !failover || failover.order.length < 2) return false
  return row.options.handed !== undefined || failover.costUsd !== undefined
}

function standingNow({ failover, row }: LiveSession): AgentStanding {
  const spent = row.cost_usd - (row.options.handed?.cost_usd ?? 0)
  const isDear = failover?.costUsd !== undefined && spent >= failover.costUsd
  return isDear ? { why: 'cost', spent } : { why: 'works' }
}
