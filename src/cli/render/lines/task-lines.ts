import type { StoredEvent } from '../../../domain/event.ts'
import { wakeTime } from '../format.ts'
import { INDENT, type Terminal, type Tone } from '../paint.ts'
import { cut, firstLine } from '../text.ts'
import { isLandingEvent, type LandingEvent } from './landing-lines.ts'

export type TaskEvent = Exclude<Extract<StoredEvent, { kind: `task.${string}` }>, LandingEvent>

/** Whether an event tells of a task of the session's queue. */
export function isTaskEvent(event: StoredEvent): event is TaskEvent {
  return event.kind.startsWith('task.') && !isLandingEvent(event)
}

/** Which tasks earlier events have told of, and whether the session's beginning was among them. */
export interface TasksSeen {
  ids: Set<string>
  fromStart: boolean
}

/** The line of one step of a task. A session with only its first task needs none: its own lines say the same. */
export function taskLines(event: TaskEvent, terminal: Terminal, seen: TasksSeen): string[] {
  const known = new Set(seen.ids).add(event.body.task_id)
  if (seen.fromStart && known.size < 2) return []
  const { word, tone } = LOOKS[event.kind]
  if (word === undefined) return []
  const { title, task_id } = event.body
  const text = `${word}: ${firstLine(title)} (${task_id})${detailOf(event)}`
  const heading = terminal.paint(tone, '[TASK]')
  return [`${heading} ${cut(text, terminal.width - INDENT - 7)}`]
}

const LOOKS: Record<TaskEvent['kind'], { word?: string; tone: Tone }> = {
  'task.submitted': { word: 'queued', tone: 'cyan' },
  'task.blocked': { word: 'blocked', tone: 'yellow' },
  'task.readied': { tone: 'dim' }, // its start is told, and comes soon
  'task.started': { word: '→ begun', tone: 'cyan' },
  'task.waiting': { word: 'waits', tone: 'yellow' },
  'task.verifying': { word: 'is being checked', tone: 'cyan' },
  'task.merging': { word: 'is being merged', tone: 'cyan' },
  'task.finished': { word: '✓ done', tone: 'green' },
  'task.failed': { word: '✗ failed', tone: 'red' },
  'task.cancelled': { word: 'cancelled', tone: 'dim' },
  'task.updated': { word: 'changed', tone: 'dim' },
  'task.deleted': { word: 'deleted', tone: 'dim' },
  'task.linked': { word: 'comes after another', tone: 'dim' },
  'task.unlinked': { word: 'comes after one less', tone: 'dim' },
  'task.claimed': { word: 'its agent says', tone: 'dim' },
  'task.noted': { word: 'note', tone: 'dim' },
}

function detailOf(event: TaskEvent): string {
  if (event.kind === 'task.submitted') {
    const { after, priority } = event.body
    const parts = [
      ...(after.length > 0 ? [`after ${after.join(', ')}`] : []),
      ...(priority ? [`priority ${priority}`] : []),
    ]
    return parts.length > 0 ? `, ${parts.join(', ')}` : ''
  }
  if (event.kind === 'task.updated') return `, ${event.body.fields.join(', ')}`
  if (event.kind === 'task.linked' || event.kind === 'task.unlinked') return `, ${event.body.blocker_id}`
  if (event.kind === 'task.claimed') return `: ${event.body.claim}`
  if (event.kind === 'task.noted') return `: ${firstLine(event.body.text)}`
  if (event.kind === 'task.deleted') return ''
  const until = event.kind === 'task.waiting' ? event.body.wakes_at : undefined
  const reason = event.body.reason === undefined ? '' : `: ${firstLine(event.body.reason)}`
  return `${reason}${until === undefined ? '' : ` until ${wakeTime(until, event.time)}`}`
}
