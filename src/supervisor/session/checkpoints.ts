import { join } from 'node:path'
import type { Summarize } from '../../agents/checkpoints/gather.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { Checkpoint, CheckpointReason } from '../../domain/checkpoint.ts'
import type { Driver } from '../../domain/session.ts'
import { workDirectory } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { brainContext } from './brain.ts'
import type { LiveSession, LiveSessionEnding, SessionDeps } from './context.ts'

/** The directory of the checkpoints of all sessions. */
export function checkpointsDirectory(dataDir: string): string {
  return join(dataDir, 'checkpoints')
}

interface CheckpointOptions {
  reason: CheckpointReason
  parked?: SessionRow['parked'] | undefined
  /** What becomes of the task at work. */
  task?: LiveSessionEnding['task']
}

/**
 * Saves a checkpoint of the session. It helps a later resume and is not the work itself: when it cannot be written, that is
 * logged and nothing else changes.
 */
export async function saveCheckpoint(
  live: LiveSession,
  deps: SessionDeps,
  { reason, parked = live.row.parked, task }: CheckpointOptions,
): Promise<void> {
  live.meters.checkpointedAt = deps.clock.now()
  try {
    // Imported on use, to save memory in a daemon without sessions.
    const [{ gather }, { read }, { save }] = await Promise.all([
      import('../../agents/checkpoints/gather.ts'),
      import('../../agents/checkpoints/read.ts'),
      import('../../agents/checkpoints/save.ts'),
    ])
    const previous = (await read(deps.checkpoints, live.id)).good?.checkpoint
    // The ending stores the new state of the task at work after this, so it is put into the checkpoint here.
    const tasks = (await deps.tasks.list({ session: live.id })).map(listed =>
      listed.id === live.row.task_id && listed.state === 'running' && task ? { ...listed, state: task.to } : listed,
    )
    const now = deps.clock.now()
    const checkpoint = await gather({
      store: deps.store,
      session: { ...live.row, parked },
      tasks,
      reason,
      now,
      previous,
      summarize: summarizerFor(live, deps, reason),
    })
    const id = await save(deps.checkpoints, checkpoint, { hidden: live.settings.secrets })
    live.log.info({ checkpoint: id, reason }, 'checkpoint written')
  } catch (error) {
    live.log.warn({ problem: messageOf(error), reason }, 'no checkpoint could be written')
  }
}

/** Saves a checkpoint when the last one is old enough. Called with every event, so that an idle session costs nothing. */
export async function saveCheckpointWhenDue(live: LiveSession, deps: SessionDeps): Promise<void> {
  const sinceMs = deps.clock.now() - live.meters.checkpointedAt
  // A checkpoint from the future was written before the clock was set back, so its age is unknown.
  if (sinceMs >= 0 && sinceMs < live.settings.checkpointEveryMs) return
  await saveCheckpoint(live, deps, { reason: 'interval' })
}

/** How long a model may take for a summary. */
const SUMMARY_MS = 20_000

/**
 * A function that asks a model for a summary, if the session has a model. Undefined at a limit, because the model may use the
 * account that is closed, and at a shutdown, because a person waits for the daemon to leave.
 */
function summarizerFor(live: LiveSession, deps: SessionDeps, reason: CheckpointReason): Summarize | undefined {
  const { brain } = live.settings.brainSettings
  if (brain.name === 'rules' || reason === 'limit' || reason === 'shutdown') return undefined
  return async material => {
    const context = await brainContext(live, deps)
    return (await brain.summarize(material, context, AbortSignal.timeout(SUMMARY_MS))).value
  }
}

export interface RestoreRequest {
  row: SessionRow
  driver: Driver
  env: Record<string, string>
  /** The manifest of the agent. */
  manifest: Pick<AgentManifest, 'name' | 'resume'>
  /** The checkpoint to go on from; by default the newest usable one. */
  from?: string | undefined
}

export interface RestoredSession {
  prompt: string
  /** The task that the prompt is for; absent if the queue is empty. */
  task_id: string | undefined
  /** The vendor's conversation, where it is intact. */
  resume: { vendorId: string; fork: boolean } | undefined
  /** Notes for the person about how the session goes on. */
  notes: string[]
}

/**
 * How a session goes on: in the vendor's own conversation where that is intact, with the essentials of the checkpoint;
 * otherwise in a new conversation with the whole checkpoint.
 */
export async function restore(
  { row, driver, env, manifest, from }: RestoreRequest,
  deps: SessionDeps,
): Promise<RestoredSession> {
  const [{ read }, { changedSince }, { restorationPrompt }] = await Promise.all([
    import('../../agents/checkpoints/read.ts'),
    import('../../agents/checkpoints/changed-files.ts'),
    import('../../agents/checkpoints/restoration-prompt.ts'),
  ])
  const { good, bad } = await read(deps.checkpoints, row.id, from)
  if (from !== undefined && !good) {
    const problem = bad[0] ? ` ${bad[0].id}: ${bad[0].problem}.` : ''
    throw new AppError('checkpoint_unknown', { id: row.id, checkpoint: from, problem })
  }
  const [task] = await deps.tasks.queue(row.id)
  // A person who names a checkpoint wants to go on from there, but the conversation also holds what came after it.
  const isIntact = from === undefined && (await hasConversation({ row, driver, env, manifest }))
  const resume =
    isIntact && row.vendor_id !== null ? { vendorId: row.vendor_id, fork: false } : pendingConversation(row)
  const notes = [
    ...bad.map(({ id, problem }) => `The checkpoint ${id} was passed over: ${problem}.`),
    ...(row.vendor_id !== null && !isIntact && from === undefined ? [lostText(manifest)] : []),
  ]
  // A failed task is ready again when it is retried. Its conversation knows it, and told the text again would begin again.
  const isRetried = resume !== undefined && task?.state === 'ready' && (await hasAnswered(task.id, row.id, deps.store))
  // A task that has not begun needs no restoration prompt in a conversation that remembers everything else.
  const isFresh =
    task !== undefined && !isRetried && (task.state === 'ready' || (await lacksTask(task.id, row.id, deps.store)))
  const how = { resume, notes, task_id: task?.id }
  const isUnheard = !resume && task !== undefined && (await neverAnswered(row, deps.store))
  if (isUnheard || (isFresh && (resume || !good))) return { prompt: await deps.briefOf(task, row), ...how }
  const intro = await handOverIntro(row, deps)
  // A daemon that died has left no checkpoint of a task that began shortly before: the newest one is about another task.
  const isOlder = good !== undefined && task !== undefined && (await beganAfter(good.checkpoint, task.id, deps.store))
  // A conversation has everything of a task that the newest checkpoint does not know.
  if (!good || isRetried || (isOlder && resume)) {
    const again = resume ? GO_ON : task ? await deps.briefOf(task, row) : row.task
    return { prompt: `${intro}${again}`, ...how }
  }
  const lastSeen = (row.options.handed && (await checkpointWhenLeft(row, deps))) ?? good.checkpoint
  const changed = await changedSince(lastSeen)
  const mode = resume ? 'essentials' : 'full'
  const restored = `${intro}${restorationPrompt(good.checkpoint, { changed, mode, handed: intro !== '' })}`
  if (task && (isFresh || isOlder))
    return { prompt: `${restored}\n\nThe next task:\n${await deps.briefOf(task, row)}`, ...how }
  // The checkpoint has the words of the person; what else belongs to a task of a run is lost with the conversation.
  if (task && row.options.run && !resume)
    return { prompt: `${restored}\n\nThe whole brief of that task:\n${await deps.briefOf(task, row)}`, ...how }
  return { prompt: restored, ...how }
}

function lostText({ name, resume }: RestoreRequest['manifest']): string {
  const why =
    resume === 'none'
      ? `${name} cannot go on with a conversation`
      : "The agent's own record of the conversation is gone or damaged"
  return `${why}; a new one goes on from the checkpoint.`
}

/** An introduction for an agent that goes on with the work of another one. */
async function handOverIntro(row: SessionRow, { store }: SessionDeps): Promise<string> {
  // An agent that never said a word has left nothing behind.
  if (!row.options.handed?.resting.some(({ vendor_id }) => vendor_id !== null)) return ''
  const { handOverText } = await import('../limits/hand-over-text.ts')
  return `${await handOverText(row, row.options.handed, store)}\n\n`
}

/** The checkpoint from before a returning agent left: it has not seen the changes since then. */
async function checkpointWhenLeft(
  { id, options }: SessionRow,
  { checkpoints }: SessionDeps,
): Promise<Checkpoint | undefined> {
  const left = options.handed?.away_since
  if (left === undefined) return undefined
  const { list } = await import('../../agents/checkpoints/read.ts')
  const readable = (await list(checkpoints, id)).flatMap(entry => ('checkpoint' in entry ? [entry.checkpoint] : []))
  return readable.find(({ timestamp }) => timestamp <= left)
}

const GO_ON = 'The work was interrupted. Go on with the task where you stopped.'

/** The conversation that the session was started to resume, where its agent was never opened. */
function pendingConversation({ vendor_id, options: { resume } }: SessionRow): RestoredSession['resume'] {
  return vendor_id === null && resume ? { vendorId: resume.vendor_id, fork: resume.fork } : undefined
}

/** Whether the agent can go on in its own conversation. */
export async function hasConversation({ row, driver, env }: RestoreRequest): Promise<boolean> {
  if (row.vendor_id === null) return false
  const state = await driver.conversationState?.(row.vendor_id, { cwd: workDirectory(row), env })
  return state === undefined || state === 'intact'
}

/** Events that show that a model has answered. */
const ANSWERS = ['agent.said', 'agent.thought', 'tool.requested'] as const

/** Events that show that an agent has received a prompt. */
const TALK = [...ANSWERS, 'turn.ended'] as const

/** Far more events than happen between two tasks; the agent received a task that began earlier. */
const MAX_EVENTS = 500

/**
 * Whether a conversation that has done other work never received this task: the row names the task before the prompt is sent,
 * and a daemon can die between the two. If asked to go on, such an agent would say that everything is done.
 */
async function lacksTask(task: string, session: string, store: Pick<Store, 'events'>): Promise<boolean> {
  const events = await store.events({ subject: session, kinds: ['task.started', ...TALK], tail: MAX_EVENTS })
  const start = events.findIndex(({ kind, body }) => kind === 'task.started' && body.task_id === task)
  if (start < 0) return false
  const isTalk = ({ kind }: (typeof events)[number]) => kind !== 'task.started'
  return events.slice(0, start).some(isTalk) && !events.slice(start).some(isTalk)
}

/** Whether no model ever answered in a session, so that there is nothing to restore. Old events may be gone, but not what was used. */
async function neverAnswered({ id, output_tokens }: SessionRow, { events }: Pick<Store, 'events'>): Promise<boolean> {
  if (output_tokens > 0) return false
  return (await events({ subject: id, kinds: [...ANSWERS], tail: 1 })).length === 0
}

/** Whether a task began after a checkpoint was written, by the order of the events: a clock may have been set back. */
async function beganAfter(
  { session_id, last_event }: Checkpoint,
  task: string,
  store: Pick<Store, 'events'>,
): Promise<boolean> {
  const later = await store.events({ subject: session_id, kinds: ['task.started'], after: last_event })
  return later.some(({ kind, body }) => kind === 'task.started' && body.task_id === task)
}

/** Whether the model of a session has answered since this task began there. A turn that the vendor refused at once is no answer. */
async function hasAnswered(task: string, session: string, store: Pick<Store, 'events'>): Promise<boolean> {
  const events = await store.events({ subject: session, kinds: ['task.started', ...ANSWERS], tail: MAX_EVENTS })
  const start = events.findIndex(({ kind, body }) => kind === 'task.started' && body.task_id === task)
  if (start < 0) return events.length === MAX_EVENTS
  return events.slice(start).some(({ kind }) => kind !== 'task.started')
}
