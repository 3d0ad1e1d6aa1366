import { access, constants, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { AppError, messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { sessionMarker } from '../base/process/marker.ts'
import { sweepMarked } from '../base/process/sweep.ts'
import { type AgentChoice, DEFAULT_AGENT } from '../domain/agent-choice.ts'
import { agentName } from '../domain/agents/agent-registry.ts'
import type { StartSession } from '../domain/api.ts'
import { brainKeysIn } from '../domain/config/layers.ts'
import type { Driver } from '../domain/session.ts'
import type { Worktree } from '../domain/worktree.ts'
import type { SessionRow } from '../store/tables.ts'
import type { LiveSession, SessionDeps } from './session/context.ts'
import type { KeptEnvironments } from './session/kept-environments.ts'
import type { LiveSessions } from './session/live-sessions.ts'
import type { PrepareDeps, PreparedSession, PrepareRequest } from './session/prepare.ts'
import { isAliveInTerminal } from './session/terminal.ts'
import type { WarmProcesses } from './session/warm-processes.ts'
import type { WorktreeProvider } from './session/worktree-provider.ts'

/** What starting and resuming sessions needs. */
export interface SupervisorContext {
  deps: SessionDeps
  prepareDeps: PrepareDeps
  /** This boot of the daemon: the owner of every session it runs. */
  bootId: string
  log: Log
  sessions: LiveSessions
  conversations: ConversationLocks
  kept: KeptEnvironments
  /** Processes that wait for the next task of a run. */
  warm: WarmProcesses
  /** Makes the worktrees of tasks. */
  worktrees: WorktreeProvider
  closing: AbortSignal
}

export function refuseWhenClosed({ closing }: SupervisorContext): void {
  if (closing.aborted) throw new AppError('daemon_stopping', {})
}

/**
 * A session keeps its marker while some process of its agent survives. Such processes are ended now. If one survives again,
 * nothing is started, because two agents would write to one conversation. The session must not be live.
 */
export async function refuseWithSurvivors(id: string, { deps }: SupervisorContext): Promise<void> {
  const row = await deps.store.sessions.get(id)
  if (row?.state !== 'ended' || row.marker === null || (await isAliveInTerminal(row))) return
  const { left } = await sweepMarked(sessionMarker(row.marker), { deadlineMs: SWEEP_DEADLINE_MS })
  if (left.length > 0) {
    throw new AppError('session_withstood', { id, pids: left.map(({ pid }) => pid).join(' ') })
  }
}

/** A process that survives SIGKILL for longer than this sleeps in the kernel, possibly for long. */
const SWEEP_DEADLINE_MS = 2_000

/** Prepares a session. `prepare.ts` is imported on use, to save memory in a daemon without sessions. */
export async function prepareSession(
  request: PrepareRequest,
  { prepareDeps }: SupervisorContext,
): Promise<PreparedSession> {
  const { prepare } = await import('./session/prepare.ts')
  return prepare(request, prepareDeps)
}

/** The agent of a session. A session from before agents could be chosen has the default agent. */
export function chosenAgent({ options }: Pick<SessionRow, 'options'>): AgentChoice {
  return options.chosen ?? DEFAULT_AGENT
}

/** Prepares a session that goes on, under its own settings and on the account it began with. */
export async function prepareResumed(
  row: SessionRow,
  env: Record<string, string>,
  supervisor: SupervisorContext,
): Promise<PreparedSession> {
  const ready = await prepareOnAnyAccount(row, env, supervisor)
  if (isOtherAccount(row, ready)) {
    const { id, project, vendor_id } = row
    throw new AppError('account_differs', { id, project, vendor_id: vendor_id ?? '<id>' })
  }
  return ready
}

/** Whether this is not the account that the session has used. A vendor refuses a conversation of another account. */
export function isOtherAccount({ account }: SessionRow, ready: PreparedSession): boolean {
  return account !== null && ![ready.account, ...ready.formerAccounts].includes(account)
}

/** Prepares a session that goes on, on the account of this environment. */
export async function prepareOnAnyAccount(
  row: SessionRow,
  env: Record<string, string>,
  supervisor: SupervisorContext,
): Promise<PreparedSession> {
  await checkProject(row.project)
  if (row.options.place) await checkWorktree(row.options.place, supervisor.deps.store)
  const { settings } = row.options
  const keys = { ...brainKeysIn(supervisor.kept.of(row.id) ?? {}), ...brainKeysIn(env) }
  const withKeys = settings ? { settings: { ...settings, ...keys } } : {}
  return prepareSession(
    { ...row.options, ...withKeys, chosen: chosenAgent(row), project: row.project, env },
    supervisor,
  )
}

type ConversationRef = NonNullable<LiveSession['settings']['open']['resume']>

/** Gives each conversation one writer: Claude Code itself lets two processes resume the same one, and their messages mix. */
export class ConversationLocks {
  /** Conversations of sessions that are being started and are not live yet. */
  readonly #starting = new Set<string>()

  /**
   * Locks a conversation until the session that is being started is live; throws where another session has it. A fork needs
   * no lock.
   */
  take(resume: ConversationRef | undefined, all: Iterable<LiveSession>): Disposable | undefined {
    if (!resume || resume.fork) return undefined
    const { vendorId } = resume
    const holder = [...all].find(live => live.row.state !== 'ended' && conversationsOf(live).includes(vendorId))
    if (holder) throw new AppError('conversation_live', { vendor_id: vendorId, id: holder.id })
    if (this.#starting.has(vendorId))
      throw new AppError('conversation_live', { vendor_id: vendorId, id: 'just started' })
    this.#starting.add(vendorId)
    return { [Symbol.dispose]: () => this.#starting.delete(vendorId) }
  }
}

/** The conversation a session is in, and the one it will resume once it has a slot. */
function conversationsOf({
  row,
  settings: {
    open: { resume },
  },
}: LiveSession): (string | null)[] {
  return [row.vendor_id, resume && !resume.fork ? resume.vendorId : null]
}

/** The real path of a project; refused when it is not an existing directory. */
export async function checkProject(path: string): Promise<string> {
  if (!isAbsolute(path)) {
    throw new AppError('bad_request', { problem: `The project ${path} is not an absolute path.` })
  }
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOTDIR') throw new AppError('project_not_directory', { path })
    throw new AppError('project_missing', { path }, error)
  })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path })
  return realpath(path)
}

/** Refuses a recording that could not be written, before anything is started for it. */
export async function checkRecordingPath(path: string | undefined): Promise<void> {
  if (path === undefined) return
  const refuse = (problem: string, cause?: unknown) => new AppError('record_unwritable', { path, problem }, cause)
  if (!isAbsolute(path)) throw refuse('it is not an absolute path')
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isFile()) throw refuse('it is not a file')
  await access(found ? path : dirname(path), constants.W_OK).catch(error => {
    throw refuse(messageOf(error), error)
  })
}

/** Refuses an id that cannot be a conversation's, before anything is started for it. */
export function checkConversationId({ resume, project }: StartSession, driver: Driver): void {
  if (!resume || driver.isVendorId?.(resume.vendor_id) !== false) return
  throw new AppError('resume_invalid', {
    ...{ vendor_id: resume.vendor_id, agent: agentName(driver.agent), project },
  })
}

/** Refuses to go on in a worktree that somebody has removed; the error says how to get its work back. */
async function checkWorktree(worktree: Worktree, { worktrees }: SessionDeps['store']): Promise<void> {
  const { directory, task, branch } = worktree
  if (!(await hasWorktree(worktree, worktrees))) throw new AppError('worktree_gone', { path: directory, task, branch })
}

/** Whether a worktree is still there. The directory alone says nothing: another task of the run may work in it by now. */
export async function hasWorktree(
  worktree: Worktree,
  worktrees: Pick<SessionDeps['store']['worktrees'], 'get'>,
): Promise<boolean> {
  const { directory } = worktree
  const row = await worktrees.get(worktree)
  const isOurs = row === undefined || (row.state === 'live' && row.directory === directory)
  const found = isOurs ? await stat(directory).catch(() => undefined) : undefined
  return found?.isDirectory() === true
}

/** Refuses to run an agent unwatched that does not ask about every call, unless the person allows it or a sandbox holds it. */
export function refuseUngatedAgent({ agent, manifest, mayRunUnattended }: PreparedSession): void {
  if (mayRunUnattended) return
  throw new AppError('agent_not_held', { agent: manifest.name, name: agent.name, why: manifest.heldBy })
}
