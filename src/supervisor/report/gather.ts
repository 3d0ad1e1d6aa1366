import { setImmediate as nextTick } from 'node:timers/promises'
import type { QuotaBook } from '../../agents/quota/quota.ts'
import type { EventKind, EventOf, StoredEvent } from '../../domain/event.ts'
import type { Commit, Report, ReportedRun, ReportedTask } from '../../domain/report/report.ts'
import type { Task } from '../../domain/task.ts'
import type { RunRow } from '../../store/runs/rows.ts'
import type { Store } from '../../store/store.ts'
import type { Tasks } from '../../tasks/open.ts'
import { targetName } from '../runs/scope.ts'
import { commitsIn, commitsOf } from './commits.ts'
import { decisionsIn, limitsIn, spentIn } from './counts-in.ts'
import { eventsIn } from './events-in.ts'
import { graphOf } from './graph-of.ts'
import { limitedAt } from './limited-at.ts'
import { notBegun } from './not-begun.ts'
import { type TaskStory, tasksIn } from './tasks-in.ts'
import { waitingForYou } from './waiting-for-you.ts'

export interface ReportParts {
  store: Store
  tasks: Pick<Tasks, 'view'>
  quota: Pick<QuotaBook, 'list'>
}

/** What a report is drawn from; everything else that happens is the log's. */
const KINDS: readonly EventKind[] = [
  ...(['agent.started', 'usage.reported', 'turn.ended', 'tool.finished', 'limit.hit'] as const),
  ...(['permission.decided', 'question.answered', 'session.ended', 'session.resumed'] as const),
  ...(['task.started', 'task.waiting', 'task.verifying', 'task.readied', 'task.blocked'] as const),
  ...(['task.finished', 'task.failed', 'task.cancelled', 'task.deleted', 'schedule.skipped'] as const),
]

/** What happened from one moment until another, in all projects or in one. */
export async function gatherReport(
  { since, until, project }: { since: number; until: number; project?: string | undefined },
  { store, tasks, quota }: ReportParts,
): Promise<Report> {
  const span = { since, until }
  const sessions = await store.sessions.list({ project })
  const ofProject = new Set(sessions.map(({ id }) => id))
  const all = await eventsIn(span, KINDS, store)
  const running = await store.tasks.list({ states: ['running'], project })
  const known = new Map(
    [...(await tasksOf([...all.within, ...all.later], store)), ...running].map(row => [row.id, row]),
  )
  const isOurs = ({ subject, body }: StoredEvent) =>
    project === undefined ||
    ofProject.has(subject) ||
    ('task_id' in body && known.get(body.task_id)?.project === project)
  const events = Map.groupBy(all.within.filter(isOurs), ({ kind }) => kind.slice(0, kind.indexOf('.')))
  const about = (...topics: string[]) => topics.flatMap(topic => events.get(topic) ?? [])
  const later = all.later.filter(isOurs)
  await nextTick()
  // A task with parts is over with the last of them: counted with them it would count twice.
  const moved = tasksIn(about('task'), span).filter(({ id }) => (known.get(id)?.children ?? 0) === 0)
  const stories = [...moved, ...allAlong({ events: about('task'), later, running }, span)]
  const told = await toldTasks(stories, known, { ...span, store })
  const worked = told.reduce((sum, { worked_ms }) => sum + worked_ms, 0)
  const limited = await limitedAt(since, { since: [...about('session'), ...later], sessions }, store)
  const used = await usedBefore(about('usage'), since, store)
  await nextTick()
  return {
    ...{ since, until, project: project ?? null },
    done: ofKind(told, 'done'),
    failed: ofKind(told, 'failed'),
    unfinished: ofKind(told, 'unfinished'),
    waiting: await waitingForYou(store, { project, sessions }),
    spent: spentIn(about('agent', 'usage', 'turn', 'tool'), used, worked),
    quota: (await quota.list()).map(({ label, windows }) => ({
      account: label,
      windows: windows.map(({ window, utilization, resets_at, source }) => ({
        window,
        utilization,
        resets_at,
        source,
      })),
    })),
    limits: limitsIn(about('session', 'limit'), { ...span, limited }),
    decisions: decisionsIn(about('permission', 'question')),
    runs: (await store.runs.list({ project })).filter(run => overlaps(run, since, until)).map(reportedRun),
    not_begun: notBegun(all.within, await store.schedules.list({ project }), span),
    timeline: stories.flatMap(({ stretches }) => stretches).toSorted((one, other) => one.from - other.from),
    graph: await graphOf(
      stories.flatMap(({ id }) => known.get(id) ?? []),
      { store, tasks },
    ),
  }
}

/** The tasks that events tell of, as they are now; what was deleted is not among them. */
function tasksOf(events: readonly StoredEvent[], store: Store): Promise<Task[]> {
  return store.tasks.of([...new Set(events.flatMap(({ body }) => ('task_id' in body ? [body.task_id] : [])))])
}

/** Those of which nothing was told because somebody was at work on them from before the time until after it. */
function allAlong(
  { events, later, running }: { events: readonly StoredEvent[]; later: readonly StoredEvent[]; running: Task[] },
  { since, until }: { since: number; until: number },
): TaskStory[] {
  const told = new Set(events.flatMap(({ body }) => ('task_id' in body ? [body.task_id] : [])))
  const still = new Map<string, string>()
  for (const { body } of later) {
    if (!('task_id' in body) || told.has(body.task_id)) continue
    told.add(body.task_id)
    if ('from' in body && body.from === 'running') still.set(body.task_id, body.title)
  }
  for (const { id, title, started_at } of running)
    if (!told.has(id) && (started_at ?? until) < since) still.set(id, title)
  return [...still].map(([id, title]) => ({
    ...{ id, title, attempts: 1, last: 'unfinished', ended_at: null, note: null },
    stretches: [{ task_id: id, title, from: since, to: until, as: 'at work' }],
  }))
}

type Told = ReportedTask & Pick<TaskStory, 'last'>

function ofKind(told: readonly Told[], kind: TaskStory['last']): ReportedTask[] {
  return told.flatMap(({ last, ...task }) => (last === kind ? [task] : []))
}

async function toldTasks(
  stories: readonly TaskStory[],
  known: ReadonlyMap<string, Task>,
  { since, until, store }: { since: number; until: number; store: Store },
): Promise<Told[]> {
  const landed = new Map(
    await Promise.all(stories.map(async ({ id }) => [id, await landedCommits(id, store)] as const)),
  )
  const projects = [...new Set(stories.flatMap(({ id }) => known.get(id)?.project ?? []))]
  const commits = new Map(
    await Promise.all(projects.map(async project => [project, await commitsIn(project, since, until)] as const)),
  )
  return stories.map(({ id, title, attempts, last, ended_at, note, stretches }) => {
    const task = known.get(id)
    const { project = '', feature = null, session_id = null } = task ?? {}
    return {
      ...{ id, title: task?.title ?? title, project, feature, session_id, attempts, last, ended_at, note },
      worked_ms: stretches.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0),
      verification: last === 'done' ? (task?.verification ?? null) : null,
      // Git counts in whole seconds: one that was made in the second of the start belongs to it.
      commits:
        landed.get(id) ??
        (commits.get(project) ?? []).filter(({ at }) =>
          stretches.some(({ from, to }) => at >= Math.floor(from / 1000) * 1000 && at <= to),
        ),
    }
  })
}

/** What a task brought into its target; undefined for one that worked in the project itself, among whatever else happened there. */
async function landedCommits(task: string, store: Store): Promise<Commit[] | undefined> {
  const [worktree] = await store.worktrees.list({ task })
  if (!worktree) return undefined
  const merge = (await store.merges.list({ task, states: ['merged'] })).at(-1)
  return merge ? commitsOf(merge) : []
}

/** The last word of each session on what it had used by then. */
async function usedBefore(
  events: readonly StoredEvent[],
  since: number,
  store: Store,
): Promise<Map<string, EventOf<'usage.reported'>['body']>> {
  const subjects = new Set(events.map(({ subject }) => subject))
  const before = new Map<string, EventOf<'usage.reported'>['body']>()
  for (const subject of subjects) {
    const [last] = await store.events({ subject, kinds: ['usage.reported'], until: since, tail: 1 })
    if (last?.kind === 'usage.reported') before.set(subject, last.body)
    await nextTick()
  }
  return before
}

function overlaps({ created_at, ended_at }: RunRow, since: number, until: number): boolean {
  return created_at < until && (ended_at ?? until) >= since
}

function reportedRun({ id, target, project, outcome, reason, created_at, ended_at }: RunRow): ReportedRun {
  return { id, target: targetName(target), project, outcome, reason, started_at: created_at, ended_at }
}
