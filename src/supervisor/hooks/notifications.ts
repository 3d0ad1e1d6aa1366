import { HOUR_MS } from '../../base/clock.ts'
import { redactText } from '../../base/redact.ts'
import type { NewEvent } from '../../domain/event.ts'
import { observedId } from './capture.ts'
import type { AnswerEvent } from './router.ts'
import { saysFirst } from './session-notes.ts'

export interface NotificationDeps {
  /** Stores the event: in the store of the daemon, or for the next daemon. From there it goes to every channel. */
  append(event: NewEvent): Promise<void>
  now?(): number
}

/** Vendors repeat a notification while nobody answers; the next one after this time is about something else. */
const SAME_MS = 10 * 60_000
const LONGEST = 1_000
/** More than an agent tells a person who is away: a script that calls the hook itself must not fill a phone. */
const MOST_AN_HOUR = 30

/**
 * Passes on what an agent tells its person, to the channels of pcc. The event is stored, and the notifier sends it as it sends
 * everything: by the switches, once for each channel, and not in quiet hours. Of all agents together some count in an hour.
 */
export function passOn({ append, now = Date.now }: NotificationDeps): AnswerEvent<'notification'> {
  let sent: number[] = []
  return async (event, context) => {
    if (event.text.trim() === '') return undefined
    const what = `notification ${event.type ?? ''} ${event.text}`
    if (!(await saysFirst(context.paths, event, { what, now: now(), againAfterMs: SAME_MS }))) return undefined
    sent = sent.filter(at => Math.abs(now() - at) < HOUR_MS)
    if (sent.push(now()) > MOST_AN_HOUR) return undefined
    const { vendor, type } = event
    const text = redactText(event.text).slice(0, LONGEST).toWellFormed()
    const body = { vendor, project: context.project, text, ...(type !== undefined && { type }) }
    await append({ actor: 'agent', subject: observedId(event), kind: 'agent.notified', body })
    return undefined
  }
}
