import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import { secretId, shortId } from '../../base/ids.ts'
import type { StartSession } from '../../domain/api.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { FeaturePosition } from '../../domain/feature.ts'
import type { RunPosition } from '../../domain/run.ts'
import type { FirstTask, Task } from '../../domain/task.ts'
import { type Worktree, workDirectory } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionOptions, SessionRow } from '../../store/tables.ts'
import {
  checkConversationId,
  checkProject,
  checkRecordingPath,
  prepareSession,
  refuseUngatedAgent,
  refuseWhenClosed,
  type SupervisorContext,
} from '../context.ts'
import { refuseWhenQueueFull } from './admission.ts'
import type { SessionDeps } from './context.ts'
import type { PreparedSession } from './prepare.ts'
import type { InProject } from './worktree-provider.ts'

/** A task for which a run, or a feature, starts the session. */
export interface BoundTask {
  run?: RunPosition
  feature?: FeaturePosition
  /** The worktree that was made for it. */
  place?: Worktree
  /** Set where the task is done in the project itself, with the reason. */
  inPlace?: InProject
  /** The task in the person's words; the agent gets a brief made from it. */
  text: string
  /** Claims the task for the session; throws where another session was quicker, and then nothing is started. */
  take(session: SessionRow, tx: Tx): Promise<Task>
}

/** Inserts the session's row with the first task of its queue, and starts its agent in the background. */
export async function startSession(
  request: StartSession,
  supervisor: SupervisorContext,
  bound?: BoundTask,
): Promise<SessionRow> {
  refuseWhenClosed(supervisor)
  const tasks = firstTasks(request)
  const project = await checkProject(request.project)
  const own = bound || !request.worktree ? undefined : await makeOwnWorktree({ ...request, project, tasks }, supervisor)
  try {
    return await startIn({ ...request, project, tasks, bound, place: bound?.place ?? own?.place }, supervisor)
  } catch (error) {
    await own?.leave()
    throw error
  }
}

type CheckedRequest = StartSession & { tasks: FirstTask[]; bound: BoundTask | undefined; place: Worktree | undefined }

async function startIn(request: CheckedRequest, supervisor: SupervisorContext): Promise<SessionRow> {
  const { project, bound } = request
  const vendorId = request.resume?.vendor_id
  const [ready] = await Promise.all([
    prepareSession({ ...request, project, ...positionOptions(request) }, supervisor),
    waitUntilLeft(vendorId, supervisor),
  ])
  if (bound || !request.attach) refuseUngatedAgent(ready)
  checkConversationId(request, ready.driver)
  await checkRecordingPath(request.record)
  refuseWhenClosed(supervisor)
  refuseWhenQueueFull(supervisor.sessions.all(), ready)
  const resume = request.resume && { vendorId: request.resume.vendor_id, fork: request.resume.fork }
  using _held = supervisor.conversations.take(resume, supervisor.sessions.all())
  const row = await supervisor.deps.store.transaction(tx => insert(request, ready, { ...supervisor, tx }))
  crashPoint('submit.after-commit')
  if (request.place) await supervisor.warm.dropOthersIn(request.place, bound?.run?.id)
  if (bound?.run) {
    const { driver, open } = ready
    await supervisor.warm.taken(bound.run.id, { marker: row.marker, driver, folder: open.cwd })
  }
  if (request.attach) supervisor.deps.terminals.expect(row.id)
  const { live } = supervisor.sessions.launch(row, ready, { prompt: request.task, resume })
  await live.control.admitted.promise
  return live.row
}

async function insert(
  request: CheckedRequest,
  ready: PreparedSession,
  { deps, bootId, sessions, warm, tx }: SupervisorContext & { tx: Tx },
) {
  const { store, clock, accounts } = deps
  const { brain, threshold } = ready.brainSettings
  const { env: _, project, task: prompt, tasks, bound, place, ...options } = request
  const task = bound?.text ?? prompt
  const rows = await tx.db.selectFrom('sessions').select(['id', 'name']).execute()
  const taken = new Set(rows.flatMap(({ id, name }) => [id, id.replace(/^s-/, ''), name]))
  const row = await store.sessions.insert(
    {
      id: freeSessionId(taken),
      name: uniqueName(request.name ?? nameFromTask(subjectOf(request)), taken),
      project,
      task,
      agent: ready.agent.name,
      model: request.model ?? null,
      options: {
        ...options,
        ...ready.settings,
        chosen: ready.agent,
        project,
        task,
        mind: { brain: brain.name, threshold },
        ...positionOptions(request),
      },
      owner: bootId,
      state: 'starting',
      account: ready.account,
      priority: request.priority ?? 0,
      marker: (bound?.run && warm.markerFor(bound.run.id, ready.open.cwd)) ?? secretId(16),
      started_at: clock.now(),
    },
    tx,
  )
  const beside = sessions
    .all()
    .filter(live => workDirectory(live.row) === workDirectory(row) && live.row.state !== 'ended')
  const notes = [...worktreeNotes(request), ...ready.notes, ...beside.map(live => sharedNote(live.row))]
  await tx.append(firstEvents(row, request, notes))
  const { id: task_id } = bound
    ? await bound.take(row, tx)
    : await submitFirstTasks(row, tasks, { deps, tx, id: place?.task })
  // The agent is opened with this task, so it is claimed first, whatever is added while the session waits for its slot.
  await store.sessions.update(row.id, { task_id }, tx)
  await accounts.rememberAgent(ready.account, { agent: ready.agent.kind, env: ready.open.env }, tx)
  crashPoint('submit.before-commit')
  return { ...row, task_id }
}

/** The part of the request that the row keeps as options. */
function positionOptions({
  bound,
  place,
}: CheckedRequest): Pick<SessionOptions, 'run' | 'feature' | 'place' | 'in_place' | 'began'> {
  return {
    ...(bound?.run && { run: bound.run }),
    ...(bound?.feature && { feature: bound.feature }),
    ...(place && { place }),
    ...(bound?.inPlace && { in_place: bound.inPlace.why, began: bound.inPlace.began }),
  }
}

function worktreeNotes({ bound, place }: CheckedRequest): string[] {
  if (place) return [`Works in a worktree of its own, on branch ${place.branch}: ${place.top}`]
  if (!bound?.inPlace) return []
  const { why, copy } = bound.inPlace
  return [`Works in the project itself, one task at a time: ${why}.${copy === undefined ? '' : ` ${copy}`}`]
}

/** The text that names the session: several tasks from one file are named after the file's title, not after the first task. */
function subjectOf({ task, tasks, requirements }: CheckedRequest): string {
  return (tasks.length > 1 && requirements?.title) || task
}

function sharedNote({ id, name }: SessionRow): string {
  return `Session ${id} (${name}) works in this directory too: they may get in each other's way.`
}

function firstEvents(row: SessionRow, request: StartSession, notes: string[]): NewEvent[] {
  const { id: subject, name, project, task, agent } = row
  const resumed = request.resume ? { resumed: request.resume.vendor_id } : {}
  return [
    { actor: 'cli', subject, kind: 'session.created', body: { name, project, task, agent, ...resumed } },
    ...notes.map(text => ({ actor: 'daemon', subject, kind: 'session.noted' as const, body: { text } })),
  ]
}

/** An id that is neither the id nor the name of another session, because both can be used to refer to one. */
function freeSessionId(taken: ReadonlySet<string>): string {
  for (;;) {
    const id = shortId('s')
    if (!taken.has(id) && !taken.has(id.replace(/^s-/, ''))) return id
  }
}

/** Resolves when no agent is still leaving that conversation: two agents must not write to it. */
async function waitUntilLeft(vendorId: string | undefined, { sessions }: SupervisorContext): Promise<void> {
  const leaving = sessions
    .launched()
    .filter(({ live: { row } }) => vendorId !== undefined && row.vendor_id === vendorId && row.state === 'ended')
  await Promise.all(leaving.map(({ done }) => done))
}

/**
 * Makes a worktree for a session that a person starts with `--worktree`. It exists before its task has a row, under the id
 * that the task will get.
 */
async function makeOwnWorktree(
  request: StartSession & { tasks: FirstTask[] },
  { worktrees, deps }: SupervisorContext,
): Promise<{ place: Worktree; leave(): Promise<void> }> {
  const { project, tasks, resume } = request
  if (tasks.length > 1)
    throw worktreeRefused(`one task lands from a worktree, and ${tasks.length} were given; see pcc run`)
  if (resume) throw worktreeRefused('a conversation that is resumed goes on where it began')
  const task = await freeTaskId(deps.store.tasks)
  const place = await worktrees.make({ project, task, attempt: 1 }, request)
  if ('why' in place) {
    const remedy = 'Leave --worktree out: it then works in the project itself.'
    throw new AppError('place_refused', { task, project, why: place.why, remedy })
  }
  return { place, leave: () => worktrees.leave(place, { project, settings: request }) }
}

async function freeTaskId({ get }: SupervisorContext['deps']['store']['tasks']): Promise<string> {
  for (;;) {
    const id = shortId('t')
    if (!(await get(id))) return id
  }
}

function worktreeRefused(problem: string): AppError {
  return new AppError('bad_request', { problem: `--worktree: ${problem}` })
}

interface SubmitContext {
  deps: SessionDeps
  tx: Tx
  /** The id of the first task, where its worktree was made under it. */
  id?: string | undefined
}

/** The queue of a request: at least its task. Throws `bad_request` if the list is inconsistent. */
function firstTasks({ task, tasks }: StartSession): FirstTask[] {
  if (!tasks) return [{ text: task, priority: 0, after: [] }]
  if (tasks[0]?.text !== task) throw tasksRefused('tasks.0.text: it is not the text of task')
  const earlier = new Set<string>()
  for (const [index, { id, after }] of tasks.entries()) {
    const missing = after.find(name => !earlier.has(name))
    if (missing !== undefined) throw tasksRefused(`tasks.${index}.after: no task above it has the id "${missing}"`)
    if (id !== undefined && earlier.has(id))
      throw tasksRefused(`tasks.${index}.id: "${id}" is taken by a task above it`)
    if (id !== undefined) earlier.add(id)
  }
  return tasks
}

/** Submits the tasks in order, each after those that it names. Returns the first one, with which the session begins. */
async function submitFirstTasks(
  row: SessionRow,
  tasks: FirstTask[],
  { deps, tx, id: firstId }: SubmitContext,
): Promise<Task> {
  const [first, ...others] = tasks
  if (!first) throw new AppError('task_empty', {})
  const ids = new Map<string, string>()
  const submit = async ({ text, priority, id, after }: FirstTask, as?: string) => {
    const blockers = after.flatMap(name => ids.get(name) ?? [])
    const task = await deps.tasks.submit(
      { session_id: row.id, project: row.project, text, priority, after: blockers, id: as },
      tx,
    )
    if (id !== undefined) ids.set(id, task.id)
    return task
  }
  const firstTask = await submit(first, firstId)
  for (const other of others) await submit(other)
  return firstTask
}

function tasksRefused(problem: string): AppError {
  return new AppError('bad_request', { problem })
}

/** A name that a person can type, made of the first words of the task. */
export function nameFromTask(task: string): string {
  const words = withoutFileName(task)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '' && !FILLERS.has(word))
  let name = ''
  for (const word of words.slice(0, MAX_WORDS)) {
    const longer = name === '' ? word.slice(0, MAX_LENGTH) : `${name}-${word}`
    if (longer.length > MAX_LENGTH) break
    name = longer
  }
  return name === '' ? 'session' : name
}

/**
 * Removes requirements files: a task that is only a file begins with its path, which does not describe the work; text above
 * a file ends where the file begins.
 */
function withoutFileName(task: string): string {
  const [ownText = ''] = task.split(/\n\n(?:This is the first of \d+ tasks: |Requirements \(.*\):\n)/, 1)
  return ownText.replace(/^Requirements \(.*\):\s*/, '')
}

/** The wanted name, or the name with the first number that makes it unique. */
export function uniqueName(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted
  let number = 2
  while (taken.has(`${wanted}-${number}`)) number += 1
  return `${wanted}-${number}`
}

const MAX_WORDS = 5
const MAX_LENGTH = 32
const FILLERS = new Set(['a', 'an', 'the', 'to', 'of', 'for', 'and', 'in', 'on', 'with', 'please', 'project'])
