import type { EventBody, EventOf, StoredEvent } from '../../../domain/event.ts'
import { clockTime } from '../format.ts'
import { INDENT, type LineOptions } from '../paint.ts'
import { cut, firstLine, neutral, wrap } from '../text.ts'
import { eventLines } from './event-lines.ts'

/** More of them say the same again. */
const MOST_REASONS = 3

/** Decisions with all that is known of them: risk, who, how sure, how long it took, the rule, and why. */
export function decisionLines(options: LineOptions): (event: StoredEvent) => string[] {
  const other = eventLines(options)
  return event => (event.kind === 'permission.decided' ? decided(event, options) : other(event))
}

function decided({ time, body }: EventOf<'permission.decided'>, { terminal }: LineOptions): string[] {
  const { verdict, risk, tool, target } = body
  const mark = terminal.paint(verdict === 'allow' ? 'green' : 'red', verdict === 'allow' ? '✓ allowed' : '✗ denied ')
  const what = cut(`${firstLine(tool)} → ${firstLine(target)}`, terminal.width - INDENT - 18)
  const under = (text: string) =>
    wrap(neutral(text), terminal.width - INDENT - 2).map(
      line => `${' '.repeat(INDENT + 2)}${terminal.paint('dim', line)}`,
    )
  return [
    `${terminal.paint('dim', `[${clockTime(time)}]`)} ${mark} ${risk.padEnd(6)} ${what}`,
    ...under(`by ${firstLine(body.by)} (${Math.round(body.confidence * 100)}% sure, ${took(body.latency_ms)})`),
    ...(body.rule === undefined ? [] : under(`rule: ${firstLine(body.rule)}`)),
    ...under(firstLine(body.reason)),
    ...reasons(body).flatMap(under),
  ]
}

/** What was seen, unless the reason says it already. */
function reasons({ reason, reasons: seen = [] }: EventBody<'permission.decided'>): string[] {
  return seen
    .filter(({ risk, text }) => risk !== 'LOW' && !reason.includes(text))
    .slice(0, MOST_REASONS)
    .map(({ code, text }) => `${firstLine(code)}: ${firstLine(text)}`)
}

function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms * 10) / 10} ms` : `${Math.round(ms / 100) / 10} s`
}
