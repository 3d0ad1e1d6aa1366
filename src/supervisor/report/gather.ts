import { setImmediate as nextTick } from 'node:timers/promises'
import type { QuotaBook } from '../../agents/limits/quota.ts'
import type { EventKind, EventOf, StoredEvent } from '../../domain/event.ts'
import type { Commit, NotBegun, Report, ReportedRun, ReportedTask } from '../../domain/report.ts'
import type { Task, TaskView } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { RunRow, ScheduleRow, SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { targetName } from '../runs/next-step.ts'
import { commitsIn, commitsOf, decisionsIn, limitsIn, spentIn } from './counts.ts'
import { type TaskStory, tasksIn, waitingForYou } from './tasks.ts'

export interface ReportDeps {
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
  { store, tasks, quota }: ReportDeps,
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
  const told = await readReportedTasks(stories, known, { ...span, store })
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

type ReportedTaskEvent = ReportedTask & Pick<TaskStory, 'last'>

function ofKind(told: readonly ReportedTaskEvent[], kind: TaskStory['last']): ReportedTask[] {
  return told.flatMap(({ last, ...task }) => (last === kind ? [task] : []))
}

async function readReportedTasks(
  stories: readonly TaskStory[],
  known: ReadonlyMap<string, Task>,
  { since, until, store }: { since: number; until: number; store: Store },
): Promise<ReportedTaskEvent[]> {
  const landed = new Map(
    await Promise.all(stories.map(async ({ id }) => [id, await mergedCommits(id, store)] as const)),
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
async function mergedCommits(task: string, store: Store): Promise<Commit[] | undefined> {
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

/** Rows read at once: a night may have hundreds of thousands, and the daemon has agents to answer meanwhile. */
const PAGE = 500
/** Times rise with the ids, but for a clock that was put right. */
const CLOCKS_DIFFER_MS = 3_600_000

export interface EventsIn {
  /** Of the time itself, in order. */
  within: StoredEvent[]
  /** What tasks and sessions did after it: by that it is known how they stood at its end. */
  later: StoredEvent[]
}

/** Reads back from the newest event until the time is passed, so that years of history cost nothing. What nobody counts is left behind. */
async function eventsIn(
  { since, until }: { since: number; until: number },
  kinds: readonly EventKind[],
  store: Pick<Store, 'events'>,
): Promise<EventsIn> {
  const within: StoredEvent[][] = []
  const later: StoredEvent[][] = []
  for (let before: number | undefined; ; ) {
    const page = await store.events({ kinds: [...kinds], tail: PAGE, before })
    within.push(page.filter(({ time }) => time >= since && time < until).map(slim))
    later.push(page.filter(({ time, kind }) => time >= until && /^(task|session)\./.test(kind)))
    if (page.length < PAGE || page.every(({ time }) => time < since - CLOCKS_DIFFER_MS)) break
    before = page[0]?.id
    await nextTick()
  }
  return { within: within.reverse().flat(), later: later.reverse().flat() }
}

/** Outputs of tools and last words would hold a hundred times the memory of all the rest. */
function slim(event: StoredEvent): StoredEvent {
  if (event.kind === 'tool.finished') return { ...event, body: { ...event.body, output: '' } }
  return event.kind === 'turn.ended' ? { ...event, body: { ...event.body, text: '' } } : event
}

/** More boxes are no picture any more. */
const MOST_BOXES = 150

/** What was worked on, what it comes after and what comes after it, in the order of submission. */
async function graphOf(
  moved: readonly Task[],
  { store, tasks }: { store: Pick<Store, 'tasks'>; tasks: Pick<Tasks, 'view'> },
): Promise<TaskView[]> {
  const boxes = new Map(moved.slice(0, MOST_BOXES).map(task => [task.id, task]))
  if (moved.length <= MOST_BOXES) {
    const before = (await store.tasks.blockersOf([...boxes.keys()])).map(({ blocker_id }) => blocker_id)
    const after = await Promise.all(moved.map(({ id }) => store.tasks.dependentsOf(id)))
    const near = new Map([...(await store.tasks.of(before)), ...after.flat()].map(task => [task.id, task]))
    if (new Set([...boxes.keys(), ...near.keys()]).size <= MOST_BOXES)
      for (const [id, task] of near) boxes.set(id, task)
  }
  const inOrder = [...boxes.values()].toSorted((one, other) => one.position - other.position)
  return Promise.all(inOrder.map(task => tasks.view(task)))
}

/** The sessions that stood still for a limit at a moment: those that moved since, by what was told of them last before it. */
async function limitedAt(
  moment: number,
  { since, sessions }: { since: readonly StoredEvent[]; sessions: readonly SessionRow[] },
  store: Pick<Store, 'events'>,
): Promise<Set<string>> {
  const moved = since.filter(({ kind }) => kind === 'session.resumed' || kind === 'session.ended')
  const still = sessions.filter(({ ended_as }) => ended_as === 'rate_limited')
  const limited = new Set<string>()
  for (const subject of new Set([...moved.map(event => event.subject), ...still.map(({ id }) => id)])) {
    const kinds = ['session.ended' as const, 'session.resumed' as const]
    const [last] = await store.events({ subject, kinds, until: moment, tail: 1 })
    if (last?.kind === 'session.ended' && last.body.status === 'rate_limited') limited.add(subject)
  }
  return limited
}

/** Runs that were to begin in a time and did not: left out, or still held up by something. */
function notBegun(
  events: readonly StoredEvent[],
  schedules: readonly ScheduleRow[],
  { since, until }: { since: number; until: number },
): NotBegun[] {
  const rows = new Map(schedules.map(row => [row.id, row]))
  const skipped = events.flatMap(event => {
    const row = rows.get(event.subject)
    return event.kind === 'schedule.skipped' && row ? [whyNotBegun(row, event.body)] : []
  })
  const held = schedules.flatMap(row => {
    const { state, due_at, reason } = row
    const isHeld = state === 'waiting' && due_at !== null && due_at >= since && due_at < until
    return isHeld && reason !== null ? [whyNotBegun(row, { due_at, reason })] : []
  })
  return [...skipped, ...held]
}

function whyNotBegun(
  { id, target, project }: ScheduleRow,
  { due_at, reason }: { due_at: number; reason: string },
): NotBegun {
  return { schedule_id: id, target: targetName(target), project, due_at, reason }
}
