import { nextAllowed } from '../../agents/limits/consent.ts'
import { manifestOf } from '../../agents/manifests/manifests.ts'
import type { HandOverCause } from '../../domain/agents/hand-over.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { SessionRow } from '../../store/tables.ts'
import { agentOf, type Floor, prepareAgain } from '../floor.ts'
import type { Ending, Run } from '../run.ts'
import type { Preparation } from '../start/preparation.ts'
import { stillThere } from '../waits/still-there.ts'
import { type Choice, chooseNext, type Standing } from './choose-next.ts'
import { type Looked, lookAtAgents } from './facts.ts'
import { handedOver } from './handed-over.ts'
import type { FailoverSettings } from './settings.ts'
import { standingAt, standingOf } from './standing.ts'

/**
 * The ending of a session whose agent is in the way of its task: where another one can take it, the row goes over to that one with the
 * ending itself, in one transaction, and it goes on at once. It is still one session with one process: the next agent is started as every
 * session goes on, after the first is proven to be gone.
 */
export async function endingWithFailover(ending: Ending, run: Run, ready: Preparation, floor: Floor): Promise<Ending> {
  const { failover } = ready
  if (failover.order.length < 2) return ending
  const { row } = run
  const admission = await floor.parts.accounts.admits({ row })
  const standing = standingAt(ending, run, admission, failover.costUsd)
  if (!standing) return ending
  const env = floor.kept.of(row.id) ?? run.open.env
  const { choice, agents } = await look({ row, env, standing, failover }, floor)
  const now = floor.parts.clock.now()
  if (!('go' in choice)) return sooner(ending, choice.lookAt, now)
  const at = nextAllowed(choice.at, run.consent)
  const change = at === null ? undefined : changeOf(row, { choice, agents, now, problem: problemIn(ending) })
  if (at === null || !change) return ending
  const { reason, event, patch } = change
  const task = ending.task?.to === 'done' ? ending.task : { to: 'waiting' as const, reason, wakesAt: at }
  const events = [...(ending.events ?? []), event]
  const { failure: _, escalation: __, ...rest } = ending
  return { ...rest, as: 'paused', reason, resumesAt: at, retries: 0, events, task, patch }
}

/** A session that waits is looked at once more when its time has come: its row, as it is then. */
export async function reconsider(row: SessionRow, env: Record<string, string>, floor: Floor): Promise<SessionRow> {
  const admission = await floor.parts.accounts.admits({ row })
  const standing = standingOf(row, admission)
  if (!standing || (standing.why === 'works' && !row.options.handed)) return row
  const { failover, consent } = await prepareAgain(row, env, floor)
  if (failover.order.length < 2) return row
  const { store, clock } = floor.parts
  const now = clock.now()
  const { choice, agents } = await look({ row, env, standing, failover }, floor)
  if (!('go' in choice) || nextAllowed(now, consent) !== now) return row
  const change = changeOf(row, { choice, agents, now })
  if (!change) return row
  return store.transaction(async tx => {
    if (!(await stillThere(row, store, tx))) return row
    const patch = { ...change.patch, retries: 0, resumes_at: choice.at, status_reason: change.reason }
    await store.sessions.update(row.id, patch, tx)
    await tx.append([change.event])
    return { ...row, ...patch }
  })
}

interface Considered {
  row: SessionRow
  env: Record<string, string>
  standing: Standing
  failover: FailoverSettings
}

async function look({ row, env, standing, failover }: Considered, floor: Floor) {
  const { order, on, thresholdMs, costUsd } = failover
  const agents = await lookAtAgents({ row, env, order, floor })
  const now = floor.parts.clock.now()
  const changedAt = row.options.handed?.at
  const choice = chooseNext({ now, order: agents, current: row.agent, standing, changedAt, thresholdMs, on, costUsd })
  return { choice, agents }
}

interface Changing {
  choice: Extract<Choice, { go: string }>
  agents: Looked[]
  now: number
  /** Why the one before could not begin. */
  problem?: string | undefined
}

function changeOf(row: SessionRow, { choice, agents, now, problem }: Changing) {
  const next = agents.find(({ name }) => name === choice.go)
  if (next?.account === undefined) return undefined
  const { cause } = choice
  const until = opensAt(agents, row.agent)
  const shutUntil = until !== undefined && until > now ? until : null
  const patch = handedOver(row, { to: next.choice, account: next.account, cause, now, until: shutUntil })
  const from = manifestOf(agentOf(row)).name
  const to = manifestOf(next.choice).name
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

function problemIn({ as, reason }: Ending): string | undefined {
  return as === 'error' ? (reason.split('\n')[0] ?? '').slice(0, 300) : undefined
}

function opensAt(agents: Looked[], name: string): number | undefined {
  return agents.find(agent => agent.name === name)?.opensAt
}

/** It is looked at again when somebody else could take it, where that is before its own time. */
function sooner(ending: Ending, lookAt: number | undefined, now: number): Ending {
  if (lookAt === undefined || ending.resumesAt === undefined || lookAt >= ending.resumesAt) return ending
  return { ...ending, resumesAt: Math.max(lookAt, now + 1_000) }
}
