import { wakeTime } from '../../base/clock.ts'
import { amountWords, budgetWords } from '../../domain/budget.ts'
import type { EventBody, StoredEvent } from '../../domain/event.ts'
import type { GateStatus } from '../../domain/evidence.ts'
import { windowName } from '../../domain/option-values.ts'
import { duration } from './format.ts'
import { cutAtWord, firstLine, INDENT, type Terminal, type Tone } from './text.ts'

export type TaskEvent = Exclude<Extract<StoredEvent, { kind: `task.${string}` }>, CompletionEvent>

/** Whether an event is about a task of the session's queue. */
export function isTaskEvent(event: StoredEvent): event is TaskEvent {
  return event.kind.startsWith('task.') && !isCompletionEvent(event)
}

/** The tasks of earlier events, and whether the start of the session was among those events. */
export interface TasksSeen {
  ids: Set<string>
  fromStart: boolean
}

/** The line for one step of a task. A session with only its first task needs none: its own lines say the same. */
export function taskEventLines(event: TaskEvent, terminal: Terminal, seen: TasksSeen): string[] {
  const ids = new Set(seen.ids).add(event.body.task_id)
  if (seen.fromStart && ids.size < 2) return []
  const { word, tone } = EVENT_WORDS[event.kind]
  if (event.kind === 'task.readied') return [] // the start follows soon
  const { title, task_id } = event.body
  const text = `${word}: ${firstLine(title)} (${task_id})${describeDetail(event)}`
  const heading = terminal.paint(tone, '[TASK]')
  return [`${heading} ${cutAtWord(text, terminal.width - INDENT - 7)}`]
}

/** The same step where only one task is shown: its title is left out. */
export function taskStepText(event: TaskEvent): string {
  const attempt = 'attempt' in event.body && event.body.attempt > 0 ? `, attempt ${event.body.attempt}` : ''
  return `${EVENT_WORDS[event.kind].word}${attempt}${describeDetail(event)}`
}

const EVENT_WORDS: Record<TaskEvent['kind'], { word: string; tone: Tone }> = {
  'task.submitted': { word: 'queued', tone: 'cyan' },
  'task.blocked': { word: 'blocked', tone: 'yellow' },
  'task.readied': { word: 'ready', tone: 'dim' },
  'task.started': { word: '→ begun', tone: 'cyan' },
  'task.waiting': { word: 'waits', tone: 'yellow' },
  'task.verifying': { word: 'is being checked', tone: 'cyan' },
  'task.merging': { word: 'is being merged', tone: 'cyan' },
  'task.finished': { word: '✓ done', tone: 'green' },
  'task.failed': { word: '✗ failed', tone: 'red' },
  'task.cancelled': { word: 'cancelled', tone: 'dim' },
  'task.updated': { word: 'changed', tone: 'dim' },
  'task.deleted': { word: 'deleted', tone: 'dim' },
  'task.linked': { word: 'now comes after another task', tone: 'dim' },
  'task.unlinked': { word: 'no longer comes after a task', tone: 'dim' },
  'task.claimed': { word: 'its agent says', tone: 'dim' },
  'task.noted': { word: 'note', tone: 'dim' },
}

function describeDetail(event: TaskEvent): string {
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

type CompletionEvent = Extract<StoredEvent, { kind: 'task.verified' | 'task.returned' }>

/** Whether an event reports the outcome of work that the agent called done. */
export function isCompletionEvent(event: StoredEvent): event is CompletionEvent {
  return event.kind === 'task.verified' || event.kind === 'task.returned'
}

/** The line for the result of gates, a merge or a review. */
export function completionLines(event: CompletionEvent, terminal: Terminal): string[] {
  if (event.kind === 'task.returned') return headedLine('[BACK]', firstLine(event.body.reason), 'yellow', terminal)
  const { status, checks, problem } = event.body
  const tone = status === 'passed' ? 'green' : status === 'failed' ? 'red' : 'yellow'
  const results = checks.map(checkText).join('  ')
  const text = `${STATUS_TEXTS[status]}${results === '' ? '' : `: ${results}`}${problem === undefined ? '' : `; ${firstLine(problem)}`}`
  return headedLine('[GATES]', text, tone, terminal)
}

const STATUS_TEXTS = { passed: 'passed', failed: 'failed', broken: 'could not be checked' } as const

/** How the result of a gate is drawn. */
export const GATE_MARKS: Record<GateStatus, { glyph: string; tone: Tone }> = {
  passed: { glyph: '✓', tone: 'green' },
  flaky: { glyph: '~', tone: 'yellow' },
  failed: { glyph: '✗', tone: 'red' },
  broken: { glyph: '!', tone: 'red' },
  skipped: { glyph: '–', tone: 'dim' },
  review: { glyph: '?', tone: 'yellow' },
}

function checkText({ gate, status, cached, duration_ms }: EventBody<'task.verified'>['checks'][number]): string {
  const time = cached ? 'cached' : duration_ms >= 1_000 ? duration(duration_ms) : ''
  return `${GATE_MARKS[status].glyph} ${gate}${time === '' ? '' : ` (${time})`}`
}

function headedLine(heading: string, text: string, tone: Tone, terminal: Terminal): string[] {
  return [`${terminal.paint(tone, heading)} ${cutAtWord(text, terminal.width - INDENT - heading.length - 1)}`]
}

/** `85% of the 5-hour window is used, resets 16:40`: the warning before a limit is hit. */
export function limitWarningText(body: EventBody<'limit.warned'>, now: number): string {
  const window = body.window === undefined ? 'the vendor’s limit' : `the ${windowName(body.window)} window`
  const reset = body.resets_at === undefined ? '' : `, resets ${wakeTime(body.resets_at, now)}`
  if (body.utilization === undefined) return `${window} is nearly used up${reset}`
  return `${Math.round(body.utilization * 100)}% of ${window} is used${reset}`
}

/** The vendor's own message, with the reset time when the message lacks it. */
export function limitHitText(body: EventBody<'limit.hit'>, now: number): string {
  if (body.resets_at === undefined || /\bresets?\b/.test(body.message)) return body.message
  return `${body.message} (resets ${wakeTime(body.resets_at, now)})`
}

/** Which agent continues a session in place of which. */
export function agentChangedText({ from, to, why, until, problem }: EventBody<'agent.changed'>, now: number): string {
  const back = until === undefined ? '' : ` until ${wakeTime(until, now)}`
  return `${to} goes on in place of ${from} (${CHANGE_REASONS[why]}${back}${problem === undefined ? '' : `: ${problem}`})`
}

const CHANGE_REASONS: Record<EventBody<'agent.changed'>['why'], string> = {
  limit: 'limit',
  login: 'it needs a login',
  credit: 'it needs credit',
  outage: 'its vendor does not answer',
  cost: 'it has spent what one agent may',
  broken: 'it could not begin',
  return: 'it comes first',
}

/** The time at which a session goes on by itself; empty when it does not. */
export function resumeTimeText({ resumes_at }: EventBody<'session.ended'>, now: number): string {
  return resumes_at === undefined ? '' : `Goes on by itself at ${wakeTime(resumes_at, now)}.`
}

/** `82% of the session's budget of 5.00 usd is spent` */
export function budgetWarningText(body: EventBody<'budget.warned'>): string {
  const share = Math.floor((body.spent / body.limit) * 100)
  return `${share}% of ${budgetWords(body)} is spent (${amountWords(body.measure, body.spent)})`
}

/** What a guard detected and what it did. */
export function guardText({ reason, did }: EventBody<'guard.tripped'>): string {
  return `${reason} (${GUARD_ACTIONS[did]})`
}

const GUARD_ACTIONS: Record<EventBody<'guard.tripped'>['did'], string> = {
  told: 'the agent is told',
  paused: 'it stops after the tool in flight',
  interrupted: 'it is interrupted',
  killed: 'processes that did not stop are ended',
}
