import { CHECKPOINT_VERSION, type Checkpoint, type CheckpointReason, type QueuedTask } from '../../domain/checkpoint.ts'
import { isBegun } from '../../domain/task.ts'
import { workDirectory } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { findModifiedFiles } from './changed-files.ts'
import { type History, readHistory } from './history.ts'
import type { ScanLimits } from './scan.ts'

/** A task with its full text, if that is more than its title. */
export type GatheredTask = QueuedTask & { description?: string | undefined }

export interface GatherInput {
  store: Pick<Store, 'events'>
  session: SessionRow
  /** All tasks of the session, in the order they run. */
  tasks: GatheredTask[]
  reason: CheckpointReason
  now: number
  /** The session's last checkpoint: only later events are read. */
  previous?: Checkpoint | undefined
  summarize?: Summarize | undefined
  scanLimits?: ScanLimits | undefined
  /** Ends the scan of the files early; the checkpoint then says so. */
  signal?: AbortSignal | undefined
}

const MAX_TASKS = 200
const MAX_STEPS = 500

/** Collects what is needed to go on with a session, from its row, its stored events and its project's files. */
export async function gather(input: GatherInput): Promise<Checkpoint> {
  const { session, tasks, reason, now, signal } = input
  const previous = input.previous?.session_id === session.id ? input.previous : undefined
  const project = workDirectory(session)
  const history = await readHistory({ store: input.store, session: { id: session.id, project }, previous })
  const { files, leftOut } = await findModifiedFiles({
    project,
    since: session.created_at,
    written: history.written,
    limits: input.scanLimits,
    signal,
  })
  const { dropped } = history
  const plan = history.plan ?? session.plan
  const open = new Set(plan.filter(({ state }) => state !== 'done').map(({ text }) => text))
  const queue = tasks.filter(({ state }) => state !== 'cancelled')
  const begun = queue.find(isBegun)
  return {
    version: CHECKPOINT_VERSION,
    session_id: session.id,
    timestamp: now,
    reason,
    project_path: project,
    vendor_id: session.vendor_id,
    original_task: session.task,
    current_task: begun?.description ?? begun?.title ?? session.task,
    completed_subtasks: history.completed.filter(text => !open.has(text)),
    pending_subtasks: [...open].slice(0, MAX_STEPS),
    queue: queue.slice(0, MAX_TASKS).map(({ title, state }) => ({ title, state })),
    modified_files: files,
    key_decisions: history.decisions,
    conversation_summary: await writeSummary({
      messages: history.messages,
      previous,
      summarize: input.summarize,
      signal,
    }),
    next_action: nextAction(session, history, queue),
    tokens: {
      context: session.context_tokens,
      window: session.context_window,
      input: session.input_tokens,
      output: session.output_tokens,
    },
    cost_usd: session.cost_usd,
    last_event: history.lastEvent,
    dropped,
    left_out: [
      ...leftOut,
      ...(dropped.decisions > 0 ? [`${dropped.decisions} older decisions are not listed.`] : []),
      ...(dropped.files > 0 ? [`${dropped.files} older changed files are not listed.`] : []),
      ...(open.size > MAX_STEPS ? [`${open.size - MAX_STEPS} more steps are not listed.`] : []),
      ...(queue.length > MAX_TASKS ? [`${queue.length - MAX_TASKS} more tasks are not listed.`] : []),
    ],
  }
}

/** What the session was about to do: the question it waits for, its current step, the next one, or its task. */
function nextAction(session: SessionRow, history: History, queue: QueuedTask[]): string {
  if (session.parked) return describeParked(session.parked)
  const plan = history.plan ?? session.plan
  const step = plan.find(({ state }) => state === 'active') ?? plan.find(({ state }) => state === 'pending')
  const task = queue.find(isBegun) ?? queue.find(({ state }) => state === 'ready')
  const action = step?.text ?? task?.title ?? session.task
  const [call] = history.open.slice(-1)
  return call === undefined ? action : `${action} (under way, outcome unknown: ${call})`
}

function describeParked(parked: Parked): string {
  if ('questions' in parked) return `the answer to: ${parked.questions.map(({ question }) => question).join(' ')}`
  return `the decision about: ${parked.tool} ${parked.target}`
}

/** Summarizes the material; undefined if it cannot. */
export type Summarize = (material: string, signal?: AbortSignal) => Promise<string | undefined>

export interface SummaryInput {
  /** The agent's messages since the last checkpoint, the latest last. */
  messages: string[]
  previous: Checkpoint | undefined
  summarize?: Summarize | undefined
  signal?: AbortSignal | undefined
}

const MAX_SUMMARY = 4_000
const MAX_MESSAGE = 1_500

/** A summary of the work so far: a brain's if there is one and it answers, else the agent's own last messages. */
async function writeSummary({ messages, previous, summarize, signal }: SummaryInput): Promise<string> {
  const material = latestTexts([
    previous?.conversation_summary ?? '',
    ...messages.map(text => text.slice(0, MAX_MESSAGE)),
  ])
  if (!summarize) return material
  // A summary is optional: its failure must not cost the checkpoint.
  const summary = await summarize(material, signal).catch(() => undefined)
  return summary?.trim().slice(0, MAX_SUMMARY) || material
}

/** As many of the newest texts as fit, in order; of the one that does not fit, its end. */
function latestTexts(texts: string[]): string {
  const kept: string[] = []
  let left = MAX_SUMMARY
  for (const text of texts.filter(text => text !== '').toReversed()) {
    kept.unshift(text.slice(-left))
    left -= text.length
    if (left <= 0) break
  }
  return kept.join('\n\n').toWellFormed()
}
