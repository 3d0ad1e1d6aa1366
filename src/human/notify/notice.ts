import type { Config } from '../../domain/config/config.ts'
import type { AnswerEscalation } from '../../domain/escalation.ts'

export type NotifySettings = Config['notifications']

/** What people are told of; the switches `notifications.on_…` have the same names. */
export type NoticeKind = 'question' | 'complete' | 'rate_limit' | 'error' | 'report'

export type ChannelName = 'desktop' | 'bell' | 'ntfy' | 'slack' | 'telegram'

/** What one event is worth telling, in words that may leave the machine: redacted, and without control characters. */
export interface Notice {
  kind: NoticeKind
  /** Two notices with the same key are one. */
  key: string
  title: string
  text: string
  /** It waits for an answer under this number. */
  decision?: Decision | undefined
  /** A person is at a terminal that shows it: only the bell is rung. */
  bellOnly?: true
}

export interface Decision {
  number: number
  /** Of the row itself: a number alone may mean another question in another data directory. */
  mark: string
  kind: 'permission' | 'question' | 'error' | 'review'
  /** Labels of what can be chosen, where one question is asked. */
  options: string[]
  /** Questions asked at once. */
  parts: number
}

/** One message as a channel says it: a notice, or the roll-up of many. */
export interface Message {
  kind: NoticeKind
  title: string
  text: string
  decision?: Decision | undefined
  sound: boolean
}

/** Whether it was said. A failure is tried again later; nothing is thrown. */
export type Sent = { ok: true } | { ok: false; problem: string; retryAfterMs?: number | undefined }

/** A way to reach a person. */
export interface Channel {
  readonly name: ChannelName
  send(message: Message, signal: AbortSignal): Promise<Sent>
}

/** Settles a decision; throws an error that says in words why that cannot be. */
export type AnswerDecision = (number: number, said: SaidFromAfar) => Promise<void>
export type SaidFromAfar = Pick<AnswerEscalation, 'verdict' | 'answer' | 'by'>
