import type { EventBody, StoredEvent } from '../../../domain/event.ts'
import { duration } from '../format.ts'
import { INDENT, type Terminal, type Tone } from '../paint.ts'
import { cut, firstLine } from '../text.ts'

export type LandingEvent = Extract<StoredEvent, { kind: 'task.verified' | 'task.returned' }>

/** Whether an event tells what became of work that its agent called done. */
export function isLandingEvent(event: StoredEvent): event is LandingEvent {
  return event.kind === 'task.verified' || event.kind === 'task.returned'
}

/** The line of what gates, a merge or a person said to it. */
export function landingLines(event: LandingEvent, terminal: Terminal): string[] {
  if (event.kind === 'task.returned') return line('[BACK]', firstLine(event.body.reason), 'yellow', terminal)
  const { status, checks, problem } = event.body
  const tone = status === 'passed' ? 'green' : status === 'failed' ? 'red' : 'yellow'
  const told = checks.map(checkText).join('  ')
  const text = `${WORDS[status]}${told === '' ? '' : `: ${told}`}${problem === undefined ? '' : `; ${firstLine(problem)}`}`
  return line('[GATES]', text, tone, terminal)
}

const WORDS = { passed: 'passed', failed: 'failed', broken: 'could not be checked' } as const

const MARKS = { passed: '✓', failed: '✗', flaky: '~', skipped: '–', broken: '!' } as const

function checkText({ gate, status, cached, duration_ms }: EventBody<'task.verified'>['checks'][number]): string {
  const how = cached ? 'cached' : duration_ms >= 1_000 ? duration(duration_ms) : ''
  return `${MARKS[status]} ${gate}${how === '' ? '' : ` (${how})`}`
}

function line(heading: string, text: string, tone: Tone, terminal: Terminal): string[] {
  return [`${terminal.paint(tone, heading)} ${cut(text, terminal.width - INDENT - heading.length - 1)}`]
}
