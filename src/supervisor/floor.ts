import { AppError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { sessionMarker } from '../base/process/marker.ts'
import { sweepMarked } from '../base/process/sweep.ts'
import { shellWord } from '../base/shell-word.ts'
import { type AgentChoice, USUAL_AGENT } from '../domain/agents/choice.ts'
import { brainKeysIn } from '../domain/config/environment-layer.ts'
import type { SessionRow } from '../store/tables.ts'
import { outlives } from './hosted/outlives.ts'
import type { LiveSessions } from './live-sessions.ts'
import { checkPlace } from './place/check-place.ts'
import type { Ground } from './place/ground.ts'
import type { Parts } from './run.ts'
import { checkProject } from './start/check-project.ts'
import type { HeldConversations } from './start/held-conversations.ts'
import type { Preparation, PrepareParts, PrepareRequest } from './start/preparation.ts'
import type { KeptEnvironments } from './waits/kept-environments.ts'
import type { WarmNext } from './warm/warm-next.ts'

/** What starting and resuming sessions work with. */
export interface Floor {
  parts: Parts
  prepareParts: PrepareParts
  /** This boot of the daemon: the owner of every session it runs. */
  bootId: string
  log: Log
  live: LiveSessions
  conversations: HeldConversations
  kept: KeptEnvironments
  /** Processes that wait for the next task of a run. */
  warm: WarmNext
  /** Where tasks are done that have a worktree of their own. */
  ground: Ground
  closing: AbortSignal
}

export function refuseWhenClosed({ closing }: Floor): void {
  if (closing.aborted) throw new AppError('daemon_stopping', {})
}

/**
 * A session whose agent could not be ended whole has its marker still: what carries it is ended now, or nothing is started,
 * because two would write to one conversation. The session must not be live.
 */
export async function refuseWithstood(id: string, { parts }: Floor): Promise<void> {
  const row = await parts.store.sessions.get(id)
  if (row?.state !== 'ended' || row.marker === null || (await outlives(row))) return
  const { left } = await sweepMarked(sessionMarker(row.marker), { deadlineMs: WITHSTAND_MS })
  if (left.length > 0) {
    throw new AppError('session_withstood', { id, pids: left.map(({ pid }) => pid).join(' ') })
  }
}

/** What does not die of SIGKILL within this sleeps in the kernel, and may do so for long. */
const WITHSTAND_MS = 2_000

/** Imported on use: what reads settings and trust is memory that a daemon without sessions need not hold. */
export async function prepareFor(request: PrepareRequest, { prepareParts }: Floor): Promise<Preparation> {
  const { prepare } = await import('./start/prepare.ts')
  return prepare(request, prepareParts)
}

/** A session keeps its agent; one from before there was a choice has the usual one. */
export function agentOf({ options }: Pick<SessionRow, 'options'>): AgentChoice {
  return options.chosen ?? USUAL_AGENT
}

/** The same for a session that goes on: under its own settings, and on the account it began with. */
export async function prepareAgain(row: SessionRow, env: Record<string, string>, floor: Floor): Promise<Preparation> {
  await checkProject(row.project)
  if (row.options.place) await checkPlace(row.options.place)
  const { settings } = row.options
  const keys = { ...brainKeysIn(floor.kept.of(row.id) ?? {}), ...brainKeysIn(env) }
  const own = settings ? { settings: { ...settings, ...keys } } : {}
  const ready = await prepareFor({ ...row.options, ...own, chosen: agentOf(row), project: row.project, env }, floor)
  if (row.account !== null && ![ready.account, ...ready.formerAccounts].includes(row.account)) {
    const { id, project, vendor_id } = row
    throw new AppError('account_differs', { id, project: shellWord(project), vendor_id: vendor_id ?? '<id>' })
  }
  return ready
}
