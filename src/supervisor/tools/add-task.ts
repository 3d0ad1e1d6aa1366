import { OPEN_STATES, type Task } from '../../domain/task.ts'
import type { ToolReply } from '../../domain/tools/agent-tools.ts'
import type { Tx } from '../../store/store.ts'
import { refuseStale } from '../fence.ts'
import { ownTask, type ToolCall } from './caller.ts'

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
export async function addTask({ description, ...task }: NewTask, call: ToolCall): Promise<ToolReply> {
  const { run, parts } = call
  const { store, tasks } = parts
  const { project } = run.row
  return store.transaction(async tx => {
    await refuseStale(run, tx)
    const own = await ownTask(call, tx)
    const mine = await addedBy(call, tx)
    const same = mine.find(({ title }) => title === task.title)
    if (same) return done(`That task is there already: ${same.id}.`)
    if (mine.length >= MOST_OF_SESSION)
      return refused(
        `you have added ${MOST_OF_SESSION} tasks, which is the most; do what you can and name the rest in your report`,
      )
    const open = await store.tasks.list({ project, label: BY_AGENT, states: OPEN_STATES, limit: MOST_OPEN }, tx)
    if (open.length >= MOST_OPEN)
      return refused(
        `agents have added ${MOST_OPEN} tasks to this project that nobody has done yet; name it in your report`,
      )
    const added = await tasks.submit(
      {
        ...task,
        after: task.after?.map(ref => idOf(ref, mine)),
        session_id: run.row.options.run ? null : run.id,
        project,
        text: description ?? '',
        feature: own.feature ?? undefined,
        labels: [BY_AGENT, bySession(run.id)],
        actor: 'agent',
      },
      tx,
    )
    return done(`Added ${added.id} (${added.state}): ${added.title}`)
  })
}

/** Makes a task of the same plan come after another one of the project. */
export async function addDependency(edge: { task: string; after: string }, call: ToolCall): Promise<ToolReply> {
  const { run, parts } = call
  const { store, tasks } = parts
  return store.transaction(async tx => {
    await refuseStale(run, tx)
    const own = await ownTask(call, tx)
    const mine = await addedBy(call, tx)
    const task = await tasks.find(idOf(edge.task, mine), tx)
    const after = await tasks.find(idOf(edge.after, mine), tx)
    if (task.project !== own.project || after.project !== own.project) return refused('it is a task of another project')
    if (!isOfSamePlan(task, own, run.id)) return refused(`${task.id} does not belong to what you work on`)
    await tasks.comeAfter(task.id, after.id, tx)
    return done(`${task.id} comes after ${after.id}.`)
  })
}

function addedBy({ run, parts }: ToolCall, tx: Tx): Promise<Task[]> {
  const { project } = run.row
  return parts.store.tasks.list({ project, label: bySession(run.id), limit: MOST_OF_SESSION + 1 }, tx)
}

/** One that the session has added may be named by its title: who adds several at once knows no ids yet. */
function idOf(ref: string, mine: readonly Task[]): string {
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

function done(text: string): ToolReply {
  return { ok: true, text }
}

function refused(why: string): ToolReply {
  return { ok: false, text: `Not done: ${why}.` }
}
