import type { QuotaBook } from '../../agents/quota/quota.ts'
import type { EventKind, EventOf, StoredEvent } from '../../domain/event.ts'
import type { Report, ReportedRun, ReportedTask } from '../../domain/report/report.ts'
import type { TaskView } from '../../domain/task.ts'
import type { RunRow } from '../../store/runs/rows.ts'
import type { Store } from '../../store/store.ts'
import type { Tasks } from '../../tasks/open.ts'
import { targetName } from '../runs/scope.ts'
import { commitsIn } from './commits.ts'
import { decisionsIn, limitsIn, spentIn } from './counts-in.ts'
import { type TaskStory, tasksIn } from './tasks-in.ts'
import { waitingForYou } from './waiting-for-you.ts'

export interface ReportParts {
  store: Store
  tasks: Pick<Tasks, 'select'>
  quota: Pick<QuotaBook, 'list'>
}

/** What a report is drawn from; everything else that happens is the log's. */
const KINDS: readonly EventKind[] = [
  ...(['agent.started', 'usage.reported', 'turn.ended', 'tool.finished', 'limit.hit'] as const),
  ...(['permission.decided', 'question.answered', 'session.ended', 'session.resumed'] as const),
  ...(['task.started', 'task.waiting', 'task.verifying', 'task.readied', 'task.blocked'] as const),
  ...(['task.finished', 'task.failed', 'task.cancelled', 'task.deleted'] as const),
]

/** What happened from one moment until another, in all projects or in one. */
export async function gatherReport(
  { since, until, project }: { since: number; until: number; project?: string | undefined },
  { store, tasks, quota }: ReportParts,
): Promise<Report> {
  const sessions = await store.sessions.list({ project })
  const ofProject = new Set(sessions.map(({ id }) => id))
  const known = new Map((await tasks.select(project === undefined ? {} : { project })).map(task => [task.id, task]))
  const isOurs = ({ subject, body }: StoredEvent) =>
    project === undefined || ofProject.has(subject) || ('task_id' in body && known.has(body.task_id))
  const events = (await store.events({ kinds: [...KINDS], from: since, until })).filter(isOurs)
  // A task with parts is over with the last of them: counted with them it would count twice.
  const moved = tasksIn(events, { since, until }).filter(({ id }) => (known.get(id)?.children ?? 0) === 0)
  const stories = [...moved, ...allAlong(moved, known, { since, until })]
  const told = await toldTasks(stories, known, { since, until })
  const worked = told.reduce((sum, { worked_ms }) => sum + worked_ms, 0)
  return {
    ...{ since, until, project: project ?? null },
    done: ofKind(told, 'done'),
    failed: ofKind(told, 'failed'),
    unfinished: ofKind(told, 'unfinished'),
    waiting: await waitingForYou(store, { project, sessions }),
    spent: spentIn(events, await usedBefore(events, since, store), worked),
    quota: (await quota.list()).map(({ label, windows }) => ({
      account: label,
      windows: windows.map(({ window, utilization, resets_at, source }) => ({
        window,
        utilization,
        resets_at,
        source,
      })),
    })),
    limits: limitsIn(events, until),
    decisions: decisionsIn(events),
    runs: (await store.runs.list({ project })).filter(run => overlaps(run, since, until)).map(reportedRun),
    timeline: stories.flatMap(({ stretches }) => stretches).toSorted((one, other) => one.from - other.from),
    graph: graphOf(stories, known),
  }
}

/** Those of which nothing was told because somebody was at work on them from before the time until after it. */
function allAlong(
  moved: readonly TaskStory[],
  known: ReadonlyMap<string, TaskView>,
  { since, until }: { since: number; until: number },
): TaskStory[] {
  const told = new Set(moved.map(({ id }) => id))
  const still = [...known.values()].filter(({ id, state, started_at, ended_at }) => {
    const isBusy = state === 'running' || (ended_at ?? 0) >= until
    return isBusy && (started_at ?? until) < since && !told.has(id)
  })
  return still.map(({ id, title }) => ({
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
  known: ReadonlyMap<string, TaskView>,
  { since, until }: { since: number; until: number },
): Promise<Told[]> {
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
      commits: (commits.get(project) ?? []).filter(({ at }) =>
        stretches.some(({ from, to }) => at >= Math.floor(from / 1000) * 1000 && at <= to),
      ),
    }
  })
}

/** The last word of each session on what it had used by then. */
async function usedBefore(
  events: readonly StoredEvent[],
  since: number,
  store: Store,
): Promise<Map<string, EventOf<'usage.reported'>['body']>> {
  const subjects = new Set(events.filter(({ kind }) => kind === 'usage.reported').map(({ subject }) => subject))
  const before = new Map<string, EventOf<'usage.reported'>['body']>()
  for (const subject of subjects) {
    const [last] = await store.events({ subject, kinds: ['usage.reported'], until: since, tail: 1 })
    if (last?.kind === 'usage.reported') before.set(subject, last.body)
  }
  return before
}

function overlaps({ created_at, ended_at }: RunRow, since: number, until: number): boolean {
  return created_at < until && (ended_at ?? until) >= since
}

function reportedRun({ id, target, project, outcome, reason, created_at, ended_at }: RunRow): ReportedRun {
  return { id, target: targetName(target), project, outcome, reason, started_at: created_at, ended_at }
}

/** More boxes are no picture any more. */
const MOST_BOXES = 150

/** What was worked on, what it comes after and what comes after it. */
function graphOf(stories: readonly TaskStory[], known: ReadonlyMap<string, TaskView>): TaskView[] {
  const moved = new Set(stories.map(({ id }) => id))
  const near = [...known.values()].filter(({ id, after }) => moved.has(id) || after.some(one => moved.has(one)))
  const before = new Set(near.flatMap(({ id, after }) => (moved.has(id) ? after : [])))
  const all = [...known.values()].filter(task => near.includes(task) || before.has(task.id))
  return all.length > MOST_BOXES ? all.filter(({ id }) => moved.has(id)).slice(0, MOST_BOXES) : all
}
