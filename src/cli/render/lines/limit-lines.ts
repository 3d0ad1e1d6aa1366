import type { EventBody } from '../../../domain/event.ts'
import { wakeTime } from '../format.ts'
import { windowName } from '../window-name.ts'

/** `85% of the 5-hour window is used, resets 16:40`: where the wall is, before it is met. */
export function warnedText(body: EventBody<'limit.warned'>, now: number): string {
  const window = body.window === undefined ? 'the vendor’s limit' : `the ${windowName(body.window)} window`
  const reset = body.resets_at === undefined ? '' : `, resets ${wakeTime(body.resets_at, now)}`
  if (body.utilization === undefined) return `${window} is nearly used up${reset}`
  return `${Math.round(body.utilization * 100)}% of ${window} is used${reset}`
}

/** The vendor's own words, with the reset where they do not say it. */
export function hitText(body: EventBody<'limit.hit'>, now: number): string {
  if (body.resets_at === undefined || /\bresets?\b/.test(body.message)) return body.message
  return `${body.message} (resets ${wakeTime(body.resets_at, now)})`
}

/** Who goes on with a session in place of whom. */
export function changedText({ from, to, why, until, problem }: EventBody<'agent.changed'>, now: number): string {
  const back = until === undefined ? '' : ` until ${wakeTime(until, now)}`
  return `${to} goes on in place of ${from} (${CHANGED[why]}${back}${problem === undefined ? '' : `: ${problem}`})`
}

const CHANGED: Record<EventBody<'agent.changed'>['why'], string> = {
  limit: 'limit',
  outage: 'its vendor does not answer',
  cost: 'it has spent what one agent may',
  broken: 'it could not begin',
  return: 'it comes first',
}

/** What follows the words of an ending after which the session goes on by itself. */
export function goesOnText({ resumes_at }: EventBody<'session.ended'>, now: number): string {
  return resumes_at === undefined ? '' : `Goes on by itself at ${wakeTime(resumes_at, now)}.`
}
