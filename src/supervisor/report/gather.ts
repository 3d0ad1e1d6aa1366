import { setImmediate as nextTick } from 'node:timers/promises'
import type { QuotaBook } from '../../agents/limits/quota.ts'
import type { EventKind, EventOf, StoredEvent } from '../../domain/event.ts'
import type { Commit, NotBegun, Report, ReportedRun, ReportedTask } from '../../domain/report.ts'
import type { Task, TaskView } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { RunRow, ScheduleRow, SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { targetName } from '../runs/next-step.ts'
import {
  type AccountWait,
  accountWaitOf,
  commitsIn,
  countLimits,
  countObserved,
  countSpent,
  listMergedCommits,
  listRefused,
  summarizeDecisions,
} from './counts.ts'
import { listNeeds, type NeedsDeps } from './needs.ts'
import { findUnchanged, readTaskStories, type TaskStory } from './tasks.ts'

export interface ReportDeps {
  store: Store
  tasks: Pick<Tasks, 'list'>
  quota: Pick<QuotaBook, 'list'>
  untrusted?: NeedsDeps['untrusted']
  /** What memory did; undefined if there is none. */
  memory?: (period: {
    since: number
    until: number
    project?: string | undefined
  }) => Promise<Report['memory'] | undefined>
}

/** The kinds of events that a report uses. */
const KINDS: readonly EventKind[] = [
  ...(['agent.started', 'usage.reported', 'model.asked', 'turn.ended', 'tool.finished', 'limit.hit'] as const),
  ...(['permission.decided', 'question.answered', 'session.ended', 'session.resumed'] as const),
  ...(['task.started', 'task.waiting', 'task.verifying', 'task.verified', 'task.readied', 'task.blocked'] as const),
  ...(['task.finished', 'task.failed', 'task.returned', 'task.cancelled', 'task.deleted', 'schedule.skipped'] as const),
]

/** Reports what happened between two moments, in all projects or in one. */
export async function gatherReport(
  { since, until, project }: { since: number; until: number; project?: string | undefined },
  { store, tasks, quota, untrusted, memory }: ReportDeps,
): Promise<Report> {
  const period = { since, until }
  const sessions = await store.sessions.list({ project, ...(project === undefined && { only: 'open' }) })
  const sessionIds = new Set(sessions.map(({ id }) => id))
  const all = await readEvents(period, KINDS, store)
  const running = await store.tasks.list({ states: ['running'], project })
  const tasksById = new Map(
    [...(await readTasks([...all.within, ...all.later], store)), ...running].map(row => [row.id, row]),
  )
  const isOfProject = (event: StoredEvent) =>
    project === undefined ||
    sessionIds.has(event.subject) ||
    ('project' in event.body && event.body.project === project) ||
    tasksById.get(taskIdOf(event) ?? '')?.project === project
  const events = Map.groupBy(all.within.filter(isOfProject), ({ kind }) => kind.slice(0, kind.indexOf('.')))
  const about = (...topics: string[]) => topics.flatMap(topic => events.get(topic) ?? [])
  const later = all.later.filter(isOfProject)
  await nextTick()
  // A task with parts is over with the last of them: it would be counted twice.
  const ofRuns = (await store.sessions.of([...new Set(about('session').map(({ subject }) => subject))])).filter(
    ({ options }) => options.run,
  )
  const taskOf = new Map(ofRuns.flatMap(({ id, task_id }) => (task_id === null ? [] : [[id, task_id] as const])))
  const steps = about('task', 'session').toSorted((a, b) => a.id - b.id)
  const moved = readTaskStories(steps, { ...period, taskOf }).filter(
    ({ id }) => (tasksById.get(id)?.children ?? 0) === 0,
  )
  const stories = [...moved, ...storiesWithoutEvents({ events: about('task'), later, running }, period)]
  await markFailedAttempts(stories, store)
  const reported = await readReportedTasks(stories, tasksById, { ...period, store })
  const worked = reported.reduce((sum, { worked_ms }) => sum + worked_ms, 0)
  const waiting = await findWaitingAt(since, { since: [...about('session'), ...later], sessions }, store)
  const used = await readUsageBefore(about('usage'), since, store)
  const { needs, refused } = await listNeeds({ store, untrusted }, { project })
  await nextTick()
  return {
    ...{ since, until, project: project ?? null },
    done: selectTasks(reported, 'done'),
    failed: selectTasks(reported, 'failed'),
    unfinished: selectTasks(reported, 'unfinished'),
    waiting: needs,
    spent: countSpent(about('agent', 'usage', 'model', 'turn', 'tool'), used, worked),
    observed: countObserved(await store.observed.list({ project, since }), until),
    memory: (await memory?.({ ...period, project })) ?? null,
    quota: (await quota.list()).map(({ label, windows }) => ({
      account: label,
      windows: windows.map(({ window, utilization, resets_at, source }) => ({
        window,
        utilization,
        resets_at,
        source,
      })),
    })),
    limits: countLimits(about('session', 'limit'), { ...period, waiting }),
    decisions: summarizeDecisions(about('permission', 'question')),
    refused: listRefused(about('permission'), [...needs, ...refused]),
    runs: (await store.runs.list({ project, since })).filter(run => overlaps(run, since, until)).map(reportedRun),
    not_begun: listNotBegun(all.within, await store.schedules.list({ project }), period),
    timeline: stories.flatMap(({ periods }) => periods).toSorted((a, b) => a.from - b.from),
    graph: await buildGraph(
      stories.flatMap(({ id }) => tasksById.get(id) ?? []),
      { store, tasks },
    ),
  }
}

/** The tasks that events are about, as they are now; deleted tasks are not among them. */
function readTasks(events: readonly StoredEvent[], store: Store): Promise<Task[]> {
  return store.tasks.of([...new Set(events.flatMap(event => taskIdOf(event) ?? []))])
}

/** The task that an event is about: events of attempts call it `task_id`, those of worktrees and merges `task`. */
export function taskIdOf({ body }: Pick<StoredEvent, 'body'>): string | undefined {
  return 'task_id' in body ? body.task_id : 'task' in body ? body.task : undefined
}

/** The stories of tasks without events in the period, because an agent worked on them from before it until after it. */
function storiesWithoutEvents(
  { events, later, running }: { events: readonly StoredEvent[]; later: readonly StoredEvent[]; running: Task[] },
  { since, until }: { since: number; until: number },
): TaskStory[] {
  const seen = new Set(events.flatMap(({ body }) => ('task_id' in body ? [body.task_id] : [])))
  const atWork = new Map<string, string>()
  for (const { body } of later) {
    if (!('task_id' in body) || seen.has(body.task_id)) continue
    seen.add(body.task_id)
    if ('from' in body && body.from === 'running') atWork.set(body.task_id, body.title)
  }
  for (const { id, title, started_at } of running)
    if (!seen.has(id) && (started_at ?? until) < since) atWork.set(id, title)
  return [...atWork].map(([id, title]) => ({
    ...{ id, title, attempts: 1, last: 'unfinished', ended_at: null, note: null },
    periods: [{ task_id: id, title, from: since, to: until, as: 'at work' }],
  }))
}

/** A failed attempt gives its task back, or called it done before the gates said no: that it failed is in the row of the attempt. */
async function markFailedAttempts(stories: readonly TaskStory[], { runs }: Pick<Store, 'runs'>): Promise<void> {
  for (const { id, periods } of stories) {
    const failed = (await runs.attempts({ task: id })).filter(({ outcome }) => outcome === 'failed')
    for (const { started_at, ended_at } of failed) {
      const last = periods.findLast(({ from }) => from >= started_at - SAME_MOMENT_MS && from <= (ended_at ?? from))
      if (last && last.as !== 'at work') last.as = 'failed'
    }
    await nextTick()
  }
}

/** The row of an attempt and the event of its task are written in one transaction, each with its own time. */
const SAME_MOMENT_MS = 1_000

type ReportedTaskEvent = ReportedTask & Pick<TaskStory, 'last'>

function selectTasks(tasks: readonly ReportedTaskEvent[], kind: TaskStory['last']): ReportedTask[] {
  return tasks.flatMap(({ last, ...task }) => (last === kind ? [task] : []))
}

async function readReportedTasks(
  stories: readonly TaskStory[],
  tasksById: ReadonlyMap<string, Task>,
  { since, until, store }: { since: number; until: number; store: Store },
): Promise<ReportedTaskEvent[]> {
  const merged = new Map(
    await Promise.all(stories.map(async ({ id }) => [id, await mergedCommits(id, store)] as const)),
  )
  const notes = new Map(
    await Promise.all(stories.map(async ({ id, note }) => [id, await withoutWorktree(note, id, store)] as const)),
  )
  const unchanged = new Set<string>()
  for (const { id, last } of stories) {
    const { attempt = 0 } = tasksById.get(id) ?? {}
    if (last === 'done' && (await findUnchanged({ task: id, attempt }, store))) unchanged.add(id)
  }
  const projects = [...new Set(stories.flatMap(({ id }) => tasksById.get(id)?.project ?? []))]
  const commits = new Map(
    await Promise.all(projects.map(async project => [project, await commitsIn(project, since, until)] as const)),
  )
  const ofWorktrees = new Set([...merged.values()].flatMap(list => list?.map(({ hash }) => hash) ?? []))
  return stories.map(({ id, title, attempts, last, ended_at, periods }) => {
    const note = notes.get(id) ?? null
    const task = tasksById.get(id)
    const { project = '', feature = null, session_id = null } = task ?? {}
    return {
      ...{ id, title: task?.title ?? title, project, feature, session_id, attempts, last, ended_at, note },
      worked_ms: periods.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0),
      changed_nothing: unchanged.has(id),
      verification: last === 'done' ? (task?.verification ?? null) : null,
      // Git counts in whole seconds: a commit in the second in which a period starts belongs to it.
      commits:
        merged.get(id) ??
        (commits.get(project) ?? []).filter(
          ({ at, hash }) =>
            !ofWorktrees.has(hash) && periods.some(({ from, to }) => at >= Math.floor(from / 1000) * 1000 && at <= to),
        ),
    }
  })
}

/** A note with paths from the project: the worktree in which they were is gone by the time somebody reads it. */
async function withoutWorktree(note: string | null, task: string, store: Store): Promise<string | null> {
  if (!note?.includes('/')) return note
  const tops = (await store.worktrees.list({ task })).map(({ top }) => top)
  return tops.reduce((text, top) => text.replaceAll(`${top}/`, '').replaceAll(top, 'the worktree'), note)
}

/** The commits that a task brought into its target; undefined for a task that worked in the project itself, among other changes. */
async function mergedCommits(task: string, store: Store): Promise<Commit[] | undefined> {
  const [worktree] = await store.worktrees.list({ task })
  if (!worktree) return undefined
  const merge = (await store.merges.list({ task, states: ['merged'] })).at(-1)
  return merge ? listMergedCommits(merge) : []
}

/** The last usage that each session reported before a moment. */
async function readUsageBefore(
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

/** Events read at once: a night may have hundreds of thousands, and the daemon has agents to answer meanwhile. */
const PAGE_SIZE = 500
/** Times rise with the ids, unless the clock was corrected. */
const CLOCK_TOLERANCE_MS = 3_600_000

export interface ReportEvents {
  /** The events of the period, in order. */
  within: StoredEvent[]
  /** The later events of tasks and sessions: they show how these stood at the end of the period. */
  later: StoredEvent[]
}

/** Reads back from the newest event to the beginning of the period, so that years of history cost nothing. */
async function readEvents(
  { since, until }: { since: number; until: number },
  kinds: readonly EventKind[],
  store: Pick<Store, 'events'>,
): Promise<ReportEvents> {
  const within: StoredEvent[][] = []
  const later: StoredEvent[][] = []
  for (let before: number | undefined; ; ) {
    const page = await store.events({ kinds: [...kinds], tail: PAGE_SIZE, before })
    within.push(page.filter(({ time }) => time >= since && time < until).map(dropTexts))
    later.push(page.filter(({ time, kind }) => time >= until && /^(task|session)\./.test(kind)))
    if (page.length < PAGE_SIZE || page.every(({ time }) => time < since - CLOCK_TOLERANCE_MS)) break
    before = page[0]?.id
    await nextTick()
  }
  return { within: within.reverse().flat(), later: later.reverse().flat() }
}

/** The outputs of tools and the texts of turns would take a hundred times the memory of all the rest. */
function dropTexts(event: StoredEvent): StoredEvent {
  if (event.kind === 'tool.finished') return { ...event, body: { ...event.body, output: '' } }
  return event.kind === 'turn.ended' ? { ...event, body: { ...event.body, text: '' } } : event
}

/** A graph with more boxes is unreadable. */
const MAX_BOXES = 150

/** The tasks that were worked on, with their blockers and dependents, in the order of submission. */
async function buildGraph(
  moved: readonly Task[],
  { store, tasks }: { store: Pick<Store, 'tasks'>; tasks: Pick<Tasks, 'list'> },
): Promise<TaskView[]> {
  if (moved.length === 0) return []
  const boxes = new Set(moved.slice(0, MAX_BOXES).map(({ id }) => id))
  if (moved.length <= MAX_BOXES) {
    const blockers = (await store.tasks.blockersOf([...boxes])).map(({ blocker_id }) => blocker_id)
    const dependents = await Promise.all(moved.map(({ id }) => store.tasks.dependentsOf(id)))
    const all = boxes.union(new Set([...blockers, ...dependents.flat().map(({ id }) => id)]))
    if (all.size <= MAX_BOXES) return tasks.list({ ids: [...all] })
  }
  return tasks.list({ ids: [...boxes] })
}

/**
 * The sessions that waited for their account at a moment, and for what. Only those that moved since or still wait can have: their last event before the
 * moment decides.
 */
async function findWaitingAt(
  moment: number,
  { since, sessions }: { since: readonly StoredEvent[]; sessions: readonly SessionRow[] },
  store: Pick<Store, 'events'>,
): Promise<Map<string, AccountWait>> {
  const moved = since.filter(({ kind }) => kind === 'session.resumed' || kind === 'session.ended')
  const waiting = sessions.filter(({ ended_as }) => ended_as === 'rate_limited' || ended_as === 'paused')
  const causes = new Map<string, AccountWait>()
  for (const subject of new Set([...moved.map(event => event.subject), ...waiting.map(({ id }) => id)])) {
    const kinds = ['session.ended' as const, 'session.resumed' as const]
    const [last] = await store.events({ subject, kinds, until: moment, tail: 1 })
    const cause = accountWaitOf(last)
    if (cause) causes.set(subject, cause)
  }
  return causes
}

/** Scheduled runs that were due in the period and did not begin: skipped, or still held up. */
function listNotBegun(
  events: readonly StoredEvent[],
  schedules: readonly ScheduleRow[],
  { since, until }: { since: number; until: number },
): NotBegun[] {
  const rows = new Map(schedules.map(row => [row.id, row]))
  const skipped = events.flatMap(event => {
    const row = rows.get(event.subject)
    return event.kind === 'schedule.skipped' && row ? [describeNotBegun(row, event.body)] : []
  })
  const held = schedules.flatMap(row => {
    const { state, due_at, reason } = row
    const isHeld = state === 'waiting' && due_at !== null && due_at >= since && due_at < until
    return isHeld && reason !== null ? [describeNotBegun(row, { due_at, reason })] : []
  })
  return [...skipped, ...held]
}

function describeNotBegun(
  { id, target, project }: ScheduleRow,
  { due_at, reason }: { due_at: number; reason: string },
): NotBegun {
  return { schedule_id: id, target: targetName(target), project, due_at, reason }
}
