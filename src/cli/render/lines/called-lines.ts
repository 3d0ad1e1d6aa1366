import type { EventOf } from '../../../domain/event.ts'
import { INDENT, type Terminal } from '../paint.ts'
import { cut, firstLine, neutral } from '../text.ts'

/** A bell for what was called long ago would only startle who reads it later. */
const NEWS_MS = 30_000

/** That something needs a person, with the bell where somebody is there to hear it. */
export function calledLines({ time, body }: EventOf<'person.called'>, terminal: Terminal): string[] {
  const isHeard = Number.isFinite(terminal.width) && Date.now() - time < NEWS_MS
  const words = cut(`You are called: ${firstLine(neutral(body.text))}`, terminal.width - INDENT)
  return [`${terminal.paint('yellow', words)}${isHeard ? '\x07' : ''}`]
}
