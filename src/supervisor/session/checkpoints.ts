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

/** Where the checkpoints of all sessions lie. */
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
 * Writes down where the session stands. It is a help for going on, not the work itself: one that cannot be written is
 * logged, and nothing else changes.
 */
export async function saveCheckpoint(
  live: LiveSession,
  deps: SessionDeps,
  { reason, parked = live.row.parked, task }: CheckpointOptions,
): Promise<void> {
  live.checkpointedAt = deps.clock.now()
  try {
    // Imported on use: memory that a daemon without sessions need not hold.
    const [{ gather }, { read }, { save }] = await Promise.all([
      import('../../agents/checkpoints/gather.ts'),
      import('../../agents/checkpoints/read.ts'),
      import('../../agents/checkpoints/save.ts'),
    ])
    const previous = (await read(deps.checkpoints, live.id)).good?.checkpoint
    // What becomes of the task at work is written with the ending, after this.
    const tasks = (await deps.tasks.list(live.id)).map(one =>
      one.id === live.row.task_id && one.state === 'running' && task ? { ...one, state: task.to } : one,
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
    const id = await save(deps.checkpoints, checkpoint, { hidden: live.secrets })
    live.log.info({ checkpoint: id, reason }, 'checkpoint written')
  } catch (error) {
    live.log.warn({ problem: messageOf(error), reason }, 'no checkpoint could be written')
  }
}

/** Writes one when the last is old enough. Asked with every event, so that a session that does nothing costs nothing. */
export async function saveCheckpointWhenDue(live: LiveSession, deps: SessionDeps): Promise<void> {
  const sinceMs = deps.clock.now() - live.checkpointedAt
  // One from the future was written before the clock was set back: how old it is nobody knows.
  if (sinceMs >= 0 && sinceMs < live.checkpointEveryMs) return
  await saveCheckpoint(live, deps, { reason: 'interval' })
}

/** A summary takes a model's time: not while a person waits for the daemon to leave. */
const SUMMARY_MS = 20_000

/**
 * A model's summary, where the session has a model to ask. Not at a limit: the model may live on the very account that is
 * shut; and not when everything is being stopped.
 */
function summarizerFor(live: LiveSession, deps: SessionDeps, reason: CheckpointReason): Summarize | undefined {
  const { brain } = live.brainSettings
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
  /** What is known of its agent. */
  manifest: Pick<AgentManifest, 'name' | 'resume'>
  /** The checkpoint to go on from; without it the newest that can be used. */
  from?: string | undefined
}

export interface RestoredSession {
  prompt: string
  /** The task that the prompt is for; absent where the queue is empty. */
  task_id: string | undefined
  /** The vendor's conversation, where it is intact. */
  resume: { vendorId: string; fork: boolean } | undefined
  /** What the person should know about how it goes on. */
  notes: string[]
}

/**
 * How a session goes on: in the vendor's own conversation where that is intact, with the essentials of where it stood;
 * in a new one with all that was kept where it is not.
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
  // Who names a checkpoint wants to go on from there, and the conversation holds what came after it too.
  const isIntact = from === undefined && (await hasConversation({ row, driver, env, manifest }))
  const resume =
    isIntact && row.vendor_id !== null ? { vendorId: row.vendor_id, fork: false } : pendingConversation(row)
  const notes = [
    ...bad.map(({ id, problem }) => `The checkpoint ${id} was passed over: ${problem}.`),
    ...(row.vendor_id !== null && !isIntact && from === undefined ? [lostText(manifest)] : []),
  ]
  // A task that has not begun needs no restoring in a conversation that remembers everything else.
  const isFresh = task !== undefined && (task.state === 'ready' || (await isTaskUnheard(task.id, row.id, deps.store)))
  const how = { resume, notes, task_id: task?.id }
  if (isFresh && (resume || !good)) return { prompt: task.description, ...how }
  const handed = await handOverIntro(row, deps)
  if (!good) return { prompt: `${handed}${resume ? GO_ON : (task?.description ?? row.task)}`, ...how }
  const seen = (row.options.handed && (await checkpointWhenLeft(row, deps))) ?? good.checkpoint
  const changed = await changedSince(seen)
  const mode = resume ? 'essentials' : 'full'
  const told = `${handed}${restorationPrompt(good.checkpoint, { changed, mode, handed: handed !== '' })}`
  const prompt = isFresh ? `${told}\n\nThe next task:\n${task.description}` : told
  return { prompt, ...how }
}

function lostText({ name, resume }: RestoreRequest['manifest']): string {
  const why =
    resume === 'none'
      ? `${name} cannot go on with a conversation`
      : "The agent's own record of the conversation is gone or damaged"
  return `${why}; a new one goes on from the checkpoint.`
}

/** Whose work it goes on with, where that was another agent's. */
async function handOverIntro(row: SessionRow, { store }: SessionDeps): Promise<string> {
  // One that never came to say a word has left nothing behind.
  if (!row.options.handed?.resting.some(({ vendor_id }) => vendor_id !== null)) return ''
  const { handOverText } = await import('../limits/hand-over-text.ts')
  return `${await handOverText(row, row.options.handed, store)}\n\n`
}

/** Where the work stood when an agent that is back again had left: what changed since then it has not seen. */
async function checkpointWhenLeft(
  { id, options }: SessionRow,
  { checkpoints }: SessionDeps,
): Promise<Checkpoint | undefined> {
  const left = options.handed?.away_since
  if (left === undefined) return undefined
  const { list } = await import('../../agents/checkpoints/read.ts')
  const known = (await list(checkpoints, id)).flatMap(one => ('checkpoint' in one ? [one.checkpoint] : []))
  return known.find(({ timestamp }) => timestamp <= left)
}

const GO_ON = 'The work was interrupted. Go on with the task where you stopped.'

/** One that never came to open its agent, and was to go on from another conversation, still is. */
function pendingConversation({ vendor_id, options: { resume } }: SessionRow): RestoredSession['resume'] {
  return vendor_id === null && resume ? { vendorId: resume.vendor_id, fork: resume.fork } : undefined
}

/** Whether the agent can go on in its own conversation. */
export async function hasConversation({ row, driver, env }: RestoreRequest): Promise<boolean> {
  if (row.vendor_id === null) return false
  const state = await driver.conversationState?.(row.vendor_id, { cwd: workDirectory(row), env })
  return state === undefined || state === 'intact'
}

/** What an agent does once it has heard a prompt. */
const TALK = ['agent.said', 'agent.thought', 'tool.requested', 'turn.ended'] as const

/** Far more than happens between two tasks; a task that began before that was heard of long ago. */
const LOOKED_BACK = 500

/**
 * Whether a conversation that has done other work never heard of this task: its row has it before its words are said, and a daemon can
 * die between the two. To be told to go on, such an agent would say that all is done.
 */
async function isTaskUnheard(task: string, session: string, store: Pick<Store, 'events'>): Promise<boolean> {
  const events = await store.events({ subject: session, kinds: ['task.started', ...TALK], tail: LOOKED_BACK })
  const begun = events.findIndex(({ kind, body }) => kind === 'task.started' && body.task_id === task)
  if (begun < 0) return false
  const isTalk = ({ kind }: (typeof events)[number]) => kind !== 'task.started'
  return events.slice(0, begun).some(isTalk) && !events.slice(begun).some(isTalk)
}
