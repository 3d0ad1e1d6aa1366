import { AppError } from '../../base/errors.ts'
import type { ToolReply } from '../../domain/agent-tools.ts'
import { OPEN_STATES, type Task } from '../../domain/task.ts'
import type { ImportedTask } from '../../domain/task-requests.ts'
import type { Tx } from '../../store/store.ts'
import { addToDraft, type DraftResult, linkInDraft } from '../../tasks/features.ts'
import { eventSubject } from '../../tasks/transition.ts'
import { type LiveSession, refuseStale, type SessionContext, type SessionDeps } from './context.ts'

/** Who calls a tool: one live session, and what it works with. */
export interface ToolContext {
  live: LiveSession
  deps: SessionDeps
}

/** The task that the session works on. Throws where it holds none: then it has nothing to say of one. */
export async function ownTask({ live, deps }: ToolContext, tx?: Tx): Promise<Task> {
  const { task_id } = live.row
  const task = task_id === null ? undefined : await deps.store.tasks.get(task_id, tx)
  const isOurs = task && (live.attempt === undefined || task.attempt === live.attempt)
  if (!task || !isOurs) throw new AppError('task_not_there', { ref: task_id ?? 'of this session' })
  return task
}

/** Counts a call of a kind that nothing else bounds. True while there may be more of them in this life of the session. */
export function mayCall(kind: string, most: number, { live }: ToolContext): boolean {
  const count = (live.toolCalls.get(kind) ?? 0) + 1
  live.toolCalls.set(kind, count)
  return count <= most
}

/** Lines that one session may add to the log of its task. */
const MOST_NOTES = 200

/** Its last word counts, and nobody needs as many. */
const MOST_CLAIMS = 100

interface OutcomeClaim {
  claim: 'done' | 'failed'
  text: string
}

/** Takes down what the agent says of its own task. It counts when its turn ends, as a sigil of its last words would. */
export async function claim({ claim, text }: OutcomeClaim, call: ToolContext): Promise<ToolReply> {
  const { live, deps } = call
  if (!mayCall('claim', MOST_CLAIMS, call))
    return {
      ok: false,
      text: `Not done: you have said ${MOST_CLAIMS} times how it ended. End your turn now with your report.`,
    }
  await deps.store.transaction(async tx => {
    await refuseStale(live, tx)
    const { id, title, attempt } = await ownTask(call, tx)
    const body = { task_id: id, title, attempt, claim, text }
    await tx.append([{ actor: 'agent', subject: live.id, kind: 'task.claimed', body }])
  })
  if (claim === 'failed') return { ok: true, text: 'Taken down. End your turn now with your report.' }
  return { ok: true, text: 'Taken down: it will be verified. End your turn now with your report.' }
}

/** A line more in the log of the session's own task. */
export async function noteInLog(text: string, call: ToolContext): Promise<ToolReply> {
  if (!mayCall('log', MOST_NOTES, call))
    return { ok: false, text: `Not done: ${MOST_NOTES} lines are the most; put the rest into your report.` }
  const task = await ownTask(call)
  const body = { task_id: task.id, title: task.title, text }
  await call.deps.store.append([{ actor: 'agent', subject: eventSubject(task), kind: 'task.noted', body }])
  return { ok: true, text: 'Noted.' }
}

/** Why the agent has said, by its tool, that the attempt at work failed; undefined where it did not, or took it back. */
export async function claimedFailure({ live, deps }: SessionContext): Promise<string | undefined> {
  const [last] = await deps.store.events({ subject: live.id, kinds: ['task.claimed'], tail: 1 })
  if (last?.kind !== 'task.claimed') return undefined
  const { task_id, attempt, claim, text } = last.body
  const isNow = task_id === live.row.task_id && (live.attempt === undefined || attempt === live.attempt)
  return isNow && claim === 'failed' ? text : undefined
}

/** One session finds so much more to do, and no agent reads a plan of more. */
export const MOST_OF_SESSION = 100
/** All that agents have added to a project and nobody has done: sessions that add tasks which add tasks end here. */
const MOST_OPEN = 1_000

/** Marks what agents have added, and which session did. */
const BY_AGENT = 'by-agent'

interface NewTask {
  title: string
  description?: string | undefined
  acceptance?: string[] | undefined
  after?: string[] | undefined
  priority?: number | undefined
}

/** Adds a task beside the one at work: to the same feature for a run, to the session's own queue without one. */
export async function addTask({ description, ...task }: NewTask, call: ToolContext): Promise<ToolReply> {
  const { live, deps } = call
  const { store, tasks } = deps
  const { project } = live.row
  return store.transaction(async tx => {
    await refuseStale(live, tx)
    const own = await ownTask(call, tx)
    const mine = await addedBy(call, tx)
    const same = mine.find(({ title }) => title === task.title)
    if (same) return replyDone(`That task is there already: ${same.id}.`)
    if (mine.length >= MOST_OF_SESSION)
      return replyRefused(
        `you have added ${MOST_OF_SESSION} tasks, which is the most; do what you can and name the rest in your report`,
      )
    const open = await store.tasks.list({ project, label: BY_AGENT, states: OPEN_STATES, limit: MOST_OPEN }, tx)
    if (open.length >= MOST_OPEN)
      return replyRefused(
        `agents have added ${MOST_OPEN} tasks to this project that nobody has done yet; name it in your report`,
      )
    const added = await tasks.submit(
      {
        ...task,
        after: task.after?.map(ref => taskIdOf(ref, mine)),
        session_id: live.row.options.run ? null : live.id,
        project,
        text: description ?? '',
        feature: own.feature ?? undefined,
        labels: [BY_AGENT, bySession(live.id)],
        actor: 'agent',
      },
      tx,
    )
    return replyDone(`Added ${added.id} (${added.state}): ${added.title}`)
  })
}

/** Makes a task of the same plan come after another one of the project. */
export async function addDependency(edge: { task: string; after: string }, call: ToolContext): Promise<ToolReply> {
  const { live, deps } = call
  const { store, tasks } = deps
  return store.transaction(async tx => {
    await refuseStale(live, tx)
    const own = await ownTask(call, tx)
    const mine = await addedBy(call, tx)
    const task = await tasks.find(taskIdOf(edge.task, mine), tx)
    const after = await tasks.find(taskIdOf(edge.after, mine), tx)
    if (task.project !== own.project || after.project !== own.project)
      return replyRefused('it is a task of another project')
    if (!isOfSamePlan(task, own, live.id)) return replyRefused(`${task.id} does not belong to what you work on`)
    await tasks.comeAfter(task.id, after.id, tx)
    return replyDone(`${task.id} comes after ${after.id}.`)
  })
}

function addedBy({ live, deps }: ToolContext, tx: Tx): Promise<Task[]> {
  const { project } = live.row
  return deps.store.tasks.list({ project, label: bySession(live.id), limit: MOST_OF_SESSION + 1 }, tx)
}

/** One that the session has added may be named by its title: who adds several at once knows no ids yet. */
function taskIdOf(ref: string, mine: readonly Task[]): string {
  return mine.find(({ title }) => title === ref)?.id ?? ref
}

/** What a session may order: what it has added itself, and what belongs to the feature of its own task. */
function isOfSamePlan(task: Task, own: Task, session: string): boolean {
  const isMine = task.labels.includes(` ${bySession(session)} `)
  return isMine || (own.feature !== null && task.feature === own.feature)
}

function bySession(id: string): string {
  return `by:${id}`
}

function replyDone(text: string): ToolReply {
  return { ok: true, text }
}

function replyRefused(why: string): ToolReply {
  return { ok: false, text: `Not done: ${why}.` }
}

/** A task of the plan that the session is writing: it becomes a real one with all others, when the session is done. */
export function draftTask(task: Omit<ImportedTask, 'id'>, call: ToolContext): Promise<ToolReply> {
  return changeDraft(
    call,
    draft => addToDraft(draft, task),
    ({ id, isNew }) => (isNew ? `Added ${id}: ${task.title}` : `That task is there already: ${id}.`),
  )
}

/** One of them comes after another. */
export function draftDependency(edge: { task: string; after: string }, call: ToolContext): Promise<ToolReply> {
  return changeDraft(
    call,
    draft => linkInDraft(draft, edge),
    () => `${edge.task} comes after ${edge.after}.`,
  )
}

async function changeDraft(
  { live, deps }: ToolContext,
  work: (draft: ImportedTask[]) => DraftResult,
  words: (drafted: Exclude<DraftResult, { refused: string }>) => string,
): Promise<ToolReply> {
  const { store } = deps
  const { feature } = live.row.options
  return store.transaction(async tx => {
    await refuseStale(live, tx)
    const row = feature && (await store.features.get(feature.id, tx))
    if (!row || row.session_id !== live.id || row.phase !== 'tasks')
      throw new AppError('feature_unknown', { name: feature?.name ?? '', project: live.row.project })
    const drafted = work(row.draft)
    if ('refused' in drafted) return { ok: false, text: `Not done: ${drafted.refused}.` }
    await store.features.update(row.id, { draft: drafted.draft }, tx)
    return { ok: true, text: words(drafted) }
  })
}
