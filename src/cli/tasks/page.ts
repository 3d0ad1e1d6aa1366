import type { StoredEvent } from '../../domain/event.ts'
import type { TaskView } from '../../domain/task.ts'
import type { TaskDetail, TaskMention } from '../../domain/tasks/requests.ts'
import { dateTime, wakeTime } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { firstLine, neutral, wrap } from '../render/text.ts'
import { STATE_LOOKS, stateText } from './words.ts'

/** A task in full: `pcc task show`. */
export function taskPage({ task, parent, blockers, dependents, parts }: TaskDetail, terminal: Terminal): string[] {
  const { paint, width } = terminal
  const text = (body: string) => wrap(neutral(body), Math.min(width, 100) - 2).map(line => `  ${line}`.trimEnd())
  return [
    paint('bold', `${task.id}  ${neutral(task.title)}`),
    `State: ${paint(STATE_LOOKS[task.state].tone, stateText(task))}${task.reason ? `, ${firstLine(task.reason)}` : ''}`,
    ...factsOf(task),
    ...(task.description === task.title ? [] : ['', ...text(task.description)]),
    ...section(
      'Done when',
      task.acceptance.map(each => `  - ${neutral(each)}`),
    ),
    ...(parent ? mentionLines('Part of', [parent], terminal) : []),
    ...(parts.length > 0 ? mentionLines(`Parts (${partsDone(task)})`, parts, terminal) : []),
    ...(blockers.length > 0 ? mentionLines('Comes after', blockers, terminal) : []),
    ...(dependents.length > 0 ? mentionLines('Comes before', dependents, terminal) : []),
    ...section('Result', task.result === null ? [] : text(task.result)),
  ]
}

/** Tasks under a heading. */
export function mentionLines(heading: string, tasks: TaskMention[], { paint }: Terminal): string[] {
  const lines = tasks.map(task => {
    const { glyph, tone } = STATE_LOOKS[task.state]
    return `  ${paint(tone, glyph)} ${task.id} ${neutral(task.title)}: ${task.state}`
  })
  return [`${heading}:${lines.length === 0 ? ' nothing' : ''}`, ...lines]
}

/** One line for each thing that happened to a task. */
export function logLines(events: StoredEvent[], { paint }: Terminal): string[] {
  return events.map(event => `${paint('dim', dateTime(event.time))}  ${happened(event)}`)
}

function factsOf(task: TaskView): string[] {
  const facts: [string, string | number | null][] = [
    ['Project', neutral(task.project)],
    ['Feature', task.feature],
    ['Type', task.type === 'task' ? null : task.type],
    ['Priority', task.priority || null],
    ['Labels', task.labels.join(', ') || null],
    ['Paths', task.paths.map(neutral).join(', ') || null],
    ['Model', task.model && neutral(task.model)],
    [
      'Budget',
      task.budget &&
        Object.entries(task.budget)
          .map(([of, most]) => `${most} ${of}`)
          .join(', '),
    ],
    [
      'Attempts',
      task.attempt
        ? `${task.attempt} (${Math.min(task.retries, task.max_retries)} of ${task.max_retries} retries)`
        : null,
    ],
    ['Session', task.session_id],
    ['Run', task.run_id],
    ['Goes on', task.wakes_at && wakeTime(task.wakes_at, Date.now())],
    ['Added', dateTime(task.created_at)],
    ['Ended', task.ended_at && dateTime(task.ended_at)],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]))
}

function partsDone({ children, children_done }: TaskView): string {
  return `${children_done} of ${children} done`
}

function section(heading: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [`${heading}:`, ...lines]
}

function happened(event: StoredEvent): string {
  if (event.kind === 'task.noted') return neutral(event.body.text).replaceAll('\n', '\n                     ')
  if (event.kind === 'merge.landed') {
    const { target, commit } = event.body
    return `reached ${neutral(target)} as ${commit.slice(0, 10)} (${event.actor})`
  }
  const word = event.kind === 'merge.held_up' ? 'merge waits' : event.kind.replace(/^(task|evidence)\./, '')
  const body = event.body as { reason?: string; attempt?: number; fields?: string[]; blocker_id?: string }
  const details = [
    ...(body.attempt ? [`attempt ${body.attempt}`] : []),
    ...(body.fields ? [body.fields.join(', ')] : []),
    ...(body.blocker_id ? [body.blocker_id] : []),
    ...(body.reason ? [firstLine(body.reason)] : []),
  ]
  return `${word}${details.length > 0 ? `: ${details.join(', ')}` : ''} (${event.actor})`
}
