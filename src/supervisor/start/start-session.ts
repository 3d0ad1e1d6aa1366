import { crashPoint } from '../../base/crash-point.ts'
import { secretId, shortId } from '../../base/ids.ts'
import type { StartSession } from '../../domain/api.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { FeaturePlace } from '../../domain/features/feature.ts'
import type { RunPlace } from '../../domain/runs/run.ts'
import type { FirstTask, Task } from '../../domain/task.ts'
import type { Place } from '../../domain/workspace/place.ts'
import { workDirectory } from '../../domain/workspace/work-directory.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionOptions, SessionRow } from '../../store/tables.ts'
import { type Floor, prepareFor, refuseWhenClosed } from '../floor.ts'
import type { InPlace } from '../place/ground.ts'
import { ownPlace } from '../place/own-place.ts'
import { refuseWhenFull } from './admit.ts'
import { refuseUnheld } from './agent/refuse-unheld.ts'
import { checkProject } from './check-project.ts'
import { checkRecord } from './check-record.ts'
import { checkResume } from './check-resume.ts'
import { firstTasks, submitFirst } from './first-tasks.ts'
import type { Preparation } from './preparation.ts'
import { nameFromTask, uniqueName } from './session-name.ts'

/** A task for which a run, or a feature, starts the session. */
export interface BoundTask {
  run?: RunPlace
  feature?: FeaturePlace
  /** The worktree that was made for it. */
  place?: Place
  /** Why it is done in the project itself. */
  inPlace?: InPlace
  /** In the words of the person: the agent is given a brief made of it. */
  text: string
  /** Claims it for the session; throws where somebody else was quicker, and then nothing is started. */
  take(session: SessionRow, tx: Tx): Promise<Task>
}

/** Makes the session's row with the first task of its queue, and starts its agent in the background. */
export async function startSession(request: StartSession, floor: Floor, bound?: BoundTask): Promise<SessionRow> {
  refuseWhenClosed(floor)
  const tasks = firstTasks(request)
  const project = await checkProject(request.project)
  const own = bound || !request.worktree ? undefined : await ownPlace({ ...request, project, tasks }, floor)
  try {
    return await startIn({ ...request, project, tasks, bound, place: bound?.place ?? own?.place }, floor)
  } catch (error) {
    await own?.leave()
    throw error
  }
}

type Checked = StartSession & { tasks: FirstTask[]; bound: BoundTask | undefined; place: Place | undefined }

async function startIn(request: Checked, floor: Floor): Promise<SessionRow> {
  const { project, bound } = request
  const vendorId = request.resume?.vendor_id
  const [ready] = await Promise.all([
    prepareFor({ ...request, project, ...placeOf(request) }, floor),
    hasLeft(vendorId, floor),
  ])
  if (bound || !request.attach) refuseUnheld(ready)
  checkResume(request, ready.driver)
  await checkRecord(request.record)
  refuseWhenClosed(floor)
  refuseWhenFull(floor.live.runs(), ready)
  const resume = request.resume && { vendorId: request.resume.vendor_id, fork: request.resume.fork }
  using _held = floor.conversations.take(resume, floor.live.runs())
  const row = await floor.parts.store.transaction(tx => insert(request, ready, { ...floor, tx }))
  crashPoint('submit.after-commit')
  if (bound?.run) await floor.warm.taken(bound.run.id, ready.driver)
  if (request.attach) floor.parts.terminals.expect(row.id)
  const { run } = floor.live.launch(row, ready, { prompt: request.task, resume })
  await run.placed.promise
  return run.row
}

async function insert(request: Checked, ready: Preparation, { parts, bootId, live, warm, tx }: Floor & { tx: Tx }) {
  const { store, clock, accounts } = parts
  const { brain, threshold } = ready.mind
  const { env: _, project, task: prompt, tasks, bound, place, ...options } = request
  const task = bound?.text ?? prompt
  const rows = await tx.db.selectFrom('sessions').select(['id', 'name']).execute()
  const taken = new Set(rows.flatMap(({ id, name }) => [id, id.replace(/^s-/, ''), name]))
  const row = await store.sessions.insert(
    {
      id: freeId(taken),
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
        ...placeOf(request),
      },
      owner: bootId,
      state: 'starting',
      account: ready.account,
      priority: request.priority ?? 0,
      marker: (bound?.run && warm.markerFor(bound.run.id)) ?? secretId(16),
      started_at: clock.now(),
    },
    tx,
  )
  const beside = live.runs().filter(run => workDirectory(run.row) === workDirectory(row) && run.row.state !== 'ended')
  const notes = [...placeNotes(request), ...ready.notes, ...beside.map(run => sharedNote(run.row))]
  await tx.append(firstEvents(row, request, notes))
  const { id: task_id } = bound
    ? await bound.take(row, tx)
    : await submitFirst(row, tasks, { parts, tx, id: place?.task })
  // The agent is opened with this one, so it is taken first, whatever is added while the session waits for its place.
  await store.sessions.update(row.id, { task_id }, tx)
  await accounts.met(ready.account, { agent: ready.agent.kind, env: ready.open.env }, tx)
  crashPoint('submit.before-commit')
  return { ...row, task_id }
}

/** What of it the row keeps. */
function placeOf({ bound, place }: Checked): Pick<SessionOptions, 'run' | 'feature' | 'place' | 'in_place' | 'began'> {
  return {
    ...(bound?.run && { run: bound.run }),
    ...(bound?.feature && { feature: bound.feature }),
    ...(place && { place }),
    ...(bound?.inPlace && { in_place: bound.inPlace.why, began: bound.inPlace.began }),
  }
}

function placeNotes({ bound, place }: Checked): string[] {
  if (place) return [`Works in a worktree of its own, on branch ${place.branch}: ${place.top}`]
  if (!bound?.inPlace) return []
  const { why, copy } = bound.inPlace
  return [`Works in the project itself, one task at a time: ${why}.${copy === undefined ? '' : ` ${copy}`}`]
}

/** Several tasks out of one file are known by the title of the file, not by what happens to come first. */
function subjectOf({ task, tasks, requirements }: Checked): string {
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

/** An id that is neither another session's id nor, since either will do to name one, its name. */
function freeId(taken: ReadonlySet<string>): string {
  for (;;) {
    const id = shortId('s')
    if (!taken.has(id) && !taken.has(id.replace(/^s-/, ''))) return id
  }
}

/** Resolves when no agent is still leaving that conversation: two must not write to it. */
async function hasLeft(vendorId: string | undefined, { live }: Floor): Promise<void> {
  const leaving = live
    .all()
    .filter(({ run: { row } }) => vendorId !== undefined && row.vendor_id === vendorId && row.state === 'ended')
  await Promise.all(leaving.map(({ done }) => done))
}
