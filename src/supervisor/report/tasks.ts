import type { StoredEvent } from '../../domain/event.ts'
import { isEmptyDiff } from '../../domain/evidence.ts'
import type { ReportedPeriod } from '../../domain/report.ts'
import { isResting } from '../../domain/session-end.ts'
import { hasChangedNothing } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'

/** How a task stood at the end of a period, and when it was worked on. */
export interface TaskStory {
  id: string
  title: string
  /** Attempts that began. */
  attempts: number
  last: 'done' | 'failed' | 'unfinished' | 'untouched'
  ended_at: number | null
  note: string | null
  periods: ReportedPeriod[]
}

const CLOSING_EVENTS = {
  'task.finished': 'done',
  'task.verifying': 'done',
  'task.failed': 'failed',
  'task.waiting': 'waiting',
  'task.readied': 'given back',
  'task.blocked': 'given back',
  'task.cancelled': 'given back',
} as const satisfies Partial<Record<StoredEvent['kind'], ReportedPeriod['as']>>

/**
 * The stories of the tasks that moved, by their events and those of their sessions. A task that was at work before the period is at work
 * from its beginning. `taskOf`: the task of each session of a run.
 */
export function readTaskStories(
  events: readonly StoredEvent[],
  { since, until, taskOf = new Map() }: { since: number; until: number; taskOf?: ReadonlyMap<string, string> },
): TaskStory[] {
  const stories = new Map<string, TaskStory>()
  const open = new Map<string, ReportedPeriod>()
  /** The tasks at work whose session waits. */
  const resting = new Set<string>()
  /** When the session of a task last went on: before that, nobody worked on the task. */
  const wentOn = new Map<string, number>()
  const begin = (story: TaskStory, from: number) => {
    const period: ReportedPeriod = { task_id: story.id, title: story.title, from, to: until, as: 'at work' }
    story.periods.push(period)
    open.set(story.id, period)
  }
  for (const event of events) {
    if (event.kind === 'session.ended' || event.kind === 'session.resumed') {
      const task = taskOf.get(event.subject) ?? ''
      if (event.kind === 'session.resumed') wentOn.set(task, event.time)
      const story = stories.get(task)
      const period = story && open.get(story.id)
      if (event.kind === 'session.resumed' && story && resting.delete(story.id)) begin(story, event.time)
      if (event.kind !== 'session.ended' || !period || !isResting(event.body.status)) continue
      Object.assign(period, { to: event.time, as: 'waiting' })
      open.delete(period.task_id)
      resting.add(period.task_id)
      continue
    }
    if (!event.kind.startsWith('task.') || !('task_id' in event.body)) continue
    const { task_id: id, title } = event.body
    const story = stories.get(id) ?? newStory(id)
    stories.set(id, Object.assign(story, { title }))
    const closes = (CLOSING_EVENTS as Partial<Record<string, ReportedPeriod['as']>>)[event.kind]
    const current = open.get(id)
    if (closes || event.kind === 'task.started') resting.delete(id)
    if (current && (closes || event.kind === 'task.started')) {
      Object.assign(current, { to: event.time, as: closes ?? 'given back' })
      open.delete(id)
    } else if (closes && story.last === 'untouched' && 'from' in event.body && event.body.from === 'running') {
      story.attempts += 1
      story.periods.push({ task_id: id, title, from: wentOn.get(id) ?? since, to: event.time, as: closes })
    }
    if (event.kind === 'task.returned') rejectLast(story, 'sent back')
    if (closes === 'given back' && 'from' in event.body && CHECKED.has(event.body.from)) rejectLast(story, 'failed')
    if (event.kind === 'task.started') {
      story.attempts += event.body.from === 'waiting' ? 0 : 1
      begin(story, event.time)
    }
    Object.assign(story, storyChange(event, story))
  }
  return [...stories.values()].filter(({ last }) => last !== 'untouched')
}

/** The states in which work that its agent called done is looked at. */
const CHECKED: ReadonlySet<string> = new Set(['verifying', 'merging'])

/** What the agent called done was not accepted. */
function rejectLast({ periods }: TaskStory, as: ReportedPeriod['as']): void {
  const last = periods.at(-1)
  if (last?.as === 'done') last.as = as
}

function newStory(id: string): TaskStory {
  return { id, title: '', attempts: 0, last: 'untouched', ended_at: null, note: null, periods: [] }
}

function storyChange(event: StoredEvent, { last }: TaskStory): Partial<TaskStory> {
  switch (event.kind) {
    case 'task.finished': {
      const { result = null, reason = null } = event.body
      // What a person said of it, or where its work is that they left out, counts more than what the agent said before.
      return {
        last: 'done',
        ended_at: event.time,
        note: event.actor === 'human' ? (reason ?? result) : (result ?? reason),
      }
    }
    case 'task.failed':
      return { last: 'failed', ended_at: event.time, note: event.body.reason ?? event.body.result ?? null }
    case 'task.started':
      return { last: 'unfinished', ended_at: null, note: null }
    case 'task.waiting':
      return { last: 'unfinished', ended_at: null, note: event.body.reason ?? null }
    case 'task.verified':
      return last === 'unfinished' && event.body.problem !== undefined ? { note: event.body.problem } : {}
    case 'task.cancelled':
    case 'task.deleted':
      return { last: 'untouched', ended_at: null, note: null }
    case 'task.readied':
    case 'task.blocked':
      return last === 'untouched' ? {} : { last: 'unfinished', ended_at: null, note: event.body.reason ?? null }
    default:
      return {}
  }
}

/** Whether an attempt whose task is done changed nothing: by what was merged, else by the last checks of its work. */
export async function findUnchanged(
  { task, attempt }: { task: string; attempt: number },
  { worktrees, merges, evidence }: Pick<Store, 'worktrees' | 'merges' | 'evidence'>,
): Promise<boolean> {
  const worktree = (await worktrees.list({ task })).find(row => row.attempt === attempt)
  const merge = (await merges.list({ task, states: ['merged'] })).findLast(row => row.attempt === attempt)
  if (worktree && merge) return hasChangedNothing(worktree, merge)
  return hasEmptyDiff({ task, attempt }, { evidence })
}

/** Whether the last checks of an attempt's work found that it changed nothing. */
export async function hasEmptyDiff(
  { task, attempt }: { task: string; attempt: number },
  { evidence }: Pick<Store, 'evidence'>,
): Promise<boolean> {
  const checks = await evidence.list({ task, attempt })
  const lastRound = Math.max(...checks.map(({ round }) => round))
  return isEmptyDiff(checks.filter(({ round }) => round === lastRound))
}
