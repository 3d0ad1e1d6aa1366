import { AppError } from '../../base/errors.ts'
import type { ToolReply } from '../../domain/agent-tools.ts'
import { OPEN_STATES, type Task } from '../../domain/task.ts'
import type { ImportedTask } from '../../domain/task-requests.ts'
import type { Tx } from '../../store/store.ts'
import { addToDraft, type DraftResult, linkInDraft } from '../../tasks/features.ts'
import { eventSubject } from '../../tasks/transition.ts'
import { refuseStale, type SessionContext } from './context.ts'

/** The task that the session works on. Throws if the session holds none. */
export async function ownTask({ live, deps }: SessionContext, tx?: Tx): Promise<Task> {
  const { task_id } = live.row
  const task = task_id === null ? undefined : await deps.store.tasks.get(task_id, tx)
  const isOurs = task && (live.agent.attempt === undefined || task.attempt === live.agent.attempt)
  if (!task || !isOurs) throw new AppError('task_not_there', { ref: task_id ?? 'of this session' })
  return task
}

/** Counts a call of a kind that nothing else bounds. True while this life of the session has made no more than `most` of them. */
export function mayCall(kind: string, most: number, { live }: SessionContext): boolean {
  const count = (live.meters.toolCalls.get(kind) ?? 0) + 1
  live.meters.toolCalls.set(kind, count)
  return count <= most
}

/** The most lines that one session may add to the log of its task. */
const MOST_NOTES = 200

/** The most claims of one session. Only its last one counts. */
const MOST_CLAIMS = 100

interface OutcomeClaim {
  claim: 'done' | 'failed'
  text: string
}

/** Records how the agent says its own task ended. The claim takes effect when the turn ends, like a sigil in its last message. */
export async function claim({ claim, text }: OutcomeClaim, call: SessionContext): Promise<ToolReply> {
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

/** Adds a line to the log of the session's own task. */
export async function noteInLog(text: string, call: SessionContext): Promise<ToolReply> {
  if (!mayCall('log', MOST_NOTES, call))
    return { ok: false, text: `Not done: ${MOST_NOTES} lines are the most; put the rest into your report.` }
  const task = await ownTask(call)
  const body = { task_id: task.id, title: task.title, text }
  await call.deps.store.append([{ actor: 'agent', subject: eventSubject(task), kind: 'task.noted', body }])
  return { ok: true, text: 'Noted.' }
}

/** The reason, where the agent has reported with its tool that the current attempt failed, and has not taken that back. */
export async function claimedFailure({ live, deps }: SessionContext): Promise<string | undefined> {
  const [last] = await deps.store.events({ subject: live.id, kinds: ['task.claimed'], tail: 1 })
  if (last?.kind !== 'task.claimed') return undefined
  const { task_id, attempt, claim, text } = last.body
  const isCurrent = task_id === live.row.task_id && (live.agent.attempt === undefined || attempt === live.agent.attempt)
  return isCurrent && claim === 'failed' ? text : undefined
}

/** The most tasks that one session may add: no agent reads a longer plan. */
export const MOST_OF_SESSION = 100
/** The most open tasks that agents may have added to a project: it ends sessions that add tasks which add tasks. */
const MOST_OPEN = 1_000

/** The label of tasks that agents have added; `bySession` gives the label of the session. */
const BY_AGENT = 'by-agent'

interface NewTask {
  title: string
  description?: string | undefined
  acceptance?: string[] | undefined
  after?: string[] | undefined
  priority?: number | undefined
}

/** Adds a task beside the one at work: to the session's own queue, or, if it works in a run or a worktree, to the project. */
export async function addTask({ description, ...task }: NewTask, call: SessionContext): Promise<ToolReply> {
  const { live, deps } = call
  const { store, tasks } = deps
  const { project } = live.row
  return store.transaction(async tx => {
    await refuseStale(live, tx)
    const own = await ownTask(call, tx)
    const added = await listAdded(call, tx)
    const same = added.find(({ title }) => title === task.title)
    if (same) return replyDone(`That task is there already: ${same.id}.`)
    if (added.length >= MOST_OF_SESSION)
      return replyRefused(
        `you have added ${MOST_OF_SESSION} tasks, which is the most; do what you can and name the rest in your report`,
      )
    const open = await store.tasks.list({ project, label: BY_AGENT, states: OPEN_STATES, limit: MOST_OPEN }, tx)
    if (open.length >= MOST_OPEN)
      return replyRefused(
        `agents have added ${MOST_OPEN} tasks to this project that nobody has done yet; name it in your report`,
      )
    const submitted = await tasks.submit(
      {
        ...task,
        after: task.after?.map(ref => taskIdOf(ref, added)),
        session_id: live.row.options.run || live.row.options.place ? null : live.id,
        project,
        text: description ?? '',
        feature: own.feature ?? undefined,
        labels: [BY_AGENT, bySession(live.id)],
        actor: 'agent',
        only: true,
      },
      tx,
    )
    return replyDone(`Added ${submitted.id} (${submitted.state}): ${submitted.title}`)
  })
}

/** Makes a task of the same plan depend on another task of the project. */
export async function addDependency(edge: { task: string; after: string }, call: SessionContext): Promise<ToolReply> {
  const { live, deps } = call
  const { store, tasks } = deps
  return store.transaction(async tx => {
    await refuseStale(live, tx)
    const own = await ownTask(call, tx)
    const added = await listAdded(call, tx)
    const find = (ref: string) => tasks.find(taskIdOf(ref, added), tx, own.project, true)
    const [task, after] = [await find(edge.task), await find(edge.after)]
    if (!belongsToSamePlan(task, own, live.id)) return replyRefused(`${task.id} does not belong to what you work on`)
    await tasks.addDependency(task.id, after.id, tx)
    return replyDone(`${task.id} comes after ${after.id}.`)
  })
}

/** The tasks that this session has added. */
function listAdded({ live, deps }: SessionContext, tx: Tx): Promise<Task[]> {
  const { project } = live.row
  return deps.store.tasks.list({ project, label: bySession(live.id), limit: MOST_OF_SESSION + 1 }, tx)
}

/** A task that the session added may be named by its title: an agent that adds several at once knows no ids yet. */
function taskIdOf(ref: string, added: readonly Task[]): string {
  return added.find(({ title }) => title === ref)?.id ?? ref
}

/** Whether a session may order a task: it added the task itself, or the task belongs to the feature of its own task. */
function belongsToSamePlan(task: Task, own: Task, session: string): boolean {
  const isMine = task.labels.includes(` ${bySession(session)} `)
  return isMine || (own.feature !== null && task.feature === own.feature)
}

function bySession(id: string): string {
  return `by:${id}`
}

function replyDone(text: string): ToolReply {
  return { ok: true, text }
}

export function replyRefused(why: string): ToolReply {
  return { ok: false, text: `Not done: ${why}.` }
}

/** Adds a task to the plan that the session writes. All tasks of the plan become real ones when the session is done. */
export function draftTask(task: Omit<ImportedTask, 'id'>, call: SessionContext): Promise<ToolReply> {
  return changeDraft(
    call,
    draft => addToDraft(draft, task),
    ({ id, isNew }) => (isNew ? `Added ${id}: ${task.title}` : `That task is there already: ${id}.`),
  )
}

/** Makes one task of the plan come after another. */
export function draftDependency(edge: { task: string; after: string }, call: SessionContext): Promise<ToolReply> {
  return changeDraft(
    call,
    draft => linkInDraft(draft, edge),
    () => `${edge.task} comes after ${edge.after}.`,
  )
}

async function changeDraft(
  { live, deps }: SessionContext,
  work: (draft: ImportedTask[]) => DraftResult,
  describe: (drafted: Exclude<DraftResult, { refused: string }>) => string,
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
    return { ok: true, text: describe(drafted) }
  })
}
