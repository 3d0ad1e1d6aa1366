import { setImmediate as nextTick } from 'node:timers/promises'
import type { Escalation } from '../../domain/escalation.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { ReportedPeriod, WaitingForYou } from '../../domain/report.ts'
import { QuestionItem } from '../../domain/session.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { TROUBLE_TOOL } from '../completion/moves.ts'

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

/** The stories of the tasks that moved, by their events. A task that was at work before the period is at work from its beginning. */
export function readTaskStories(
  events: readonly StoredEvent[],
  { since, until }: { since: number; until: number },
): TaskStory[] {
  const stories = new Map<string, TaskStory>()
  const open = new Map<string, ReportedPeriod>()
  for (const event of events) {
    if (!event.kind.startsWith('task.') || !('task_id' in event.body)) continue
    const { task_id: id, title } = event.body
    const story = stories.get(id) ?? newStory(id)
    stories.set(id, Object.assign(story, { title }))
    const closes = (CLOSING_EVENTS as Partial<Record<string, ReportedPeriod['as']>>)[event.kind]
    const current = open.get(id)
    if (current && (closes || event.kind === 'task.started')) {
      Object.assign(current, { to: event.time, as: closes ?? 'given back' })
      open.delete(id)
    } else if (closes && story.last === 'untouched' && 'from' in event.body && event.body.from === 'running') {
      story.attempts += 1
      story.periods.push({ task_id: id, title, from: since, to: event.time, as: closes })
    }
    if (event.kind === 'task.started') {
      const period: ReportedPeriod = { task_id: id, title, from: event.time, to: until, as: 'at work' }
      story.attempts += event.body.from === 'waiting' ? 0 : 1
      story.periods.push(period)
      open.set(id, period)
    }
    Object.assign(story, storyChange(event, story))
  }
  return [...stories.values()].filter(({ last }) => last !== 'untouched')
}

function newStory(id: string): TaskStory {
  return { id, title: '', attempts: 0, last: 'untouched', ended_at: null, note: null, periods: [] }
}

function storyChange(event: StoredEvent, { last }: TaskStory): Partial<TaskStory> {
  switch (event.kind) {
    case 'task.finished':
      return { last: 'done', ended_at: event.time, note: event.body.result ?? event.body.reason ?? null }
    case 'task.failed':
      return { last: 'failed', ended_at: event.time, note: event.body.reason ?? event.body.result ?? null }
    case 'task.started':
      return { last: 'unfinished', ended_at: null, note: null }
    case 'task.waiting':
      return { last: 'unfinished', ended_at: null, note: event.body.reason ?? null }
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

/** What waits for a person: decisions, sessions that only a person can resume, and failed tasks that hold up others. */
export async function waitingForYou(
  store: Store,
  { project, sessions }: { project: string | undefined; sessions: readonly SessionRow[] },
): Promise<WaitingForYou[]> {
  const open = (await store.escalations.list({ states: ['open'] })).filter(
    row => project === undefined || row.project === project,
  )
  const asked = new Set(open.map(({ session_id }) => session_id))
  const decisions = open.map((row): WaitingForYou => {
    const next = row.kind === 'review' ? `pcc review ${row.input['task']}` : `pcc respond ${row.number}`
    return { kind: 'decision', text: describeEscalation(row), next, since: row.created_at }
  })
  const paused = sessions
    .filter(row => needsPerson(row) && !asked.has(row.id))
    .map((row): WaitingForYou => {
      const text = `${row.id} (${row.name}): ${row.status_reason ?? 'paused'}`
      return { kind: 'session', text, next: `pcc resume ${row.id}`, since: row.ended_at }
    })
  const failed = await store.tasks.list({ states: ['failed'], ...(project !== undefined && { project }) })
  const holding: WaitingForYou[] = []
  for (const { id, title, ended_at } of failed) {
    const held = (await store.tasks.dependentsOf(id)).filter(({ state }) => state === 'blocked').length
    const text = `${title}: it failed and holds up ${held === 1 ? 'another task' : `${held} others`}`
    if (held > 0) holding.push({ kind: 'task', text, next: `pcc task reset ${id}`, since: ended_at })
    await nextTick()
  }
  return [...decisions, ...paused, ...holding]
}

function describeEscalation({ kind, tool, target, reason, input }: Escalation): string {
  if (kind === 'review') return `${target}: may it be merged?`
  if (kind === 'error') return tool === TROUBLE_TOOL ? `${target}: ${reason}` : reason
  const questions = QuestionItem.array().safeParse(input['questions'])
  return questions.success ? questions.data.map(({ question }) => question).join(' ') : `${tool} ${target}`
}

/** Whether only a person can resume the session. */
function needsPerson({ state, ended_as, resumes_at }: SessionRow): boolean {
  return state === 'ended' && (ended_as === 'paused' || ended_as === 'rate_limited') && resumes_at === null
}
