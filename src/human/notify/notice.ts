import { stripVTControlCharacters } from 'node:util'
import { redactText } from '../../base/redact.ts'
import type { Config } from '../../domain/config/settings.ts'
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
  decision?: NoticeDecision | undefined
  /** A person is at a terminal that shows it: only the bell is rung. */
  bellOnly?: true
}

export interface NoticeDecision {
  number: number
  /** Of the row itself: a number alone may mean another question in another data directory. */
  mark: string
  kind: 'permission' | 'question' | 'error' | 'review'
  /** Labels of what can be chosen, where one question is asked. */
  options: string[]
  /** Questions asked at once. */
  deps: number
}

/** One message as a channel says it: a notice, or the roll-up of many. */
export interface NotifyMessage {
  kind: NoticeKind
  title: string
  text: string
  decision?: NoticeDecision | undefined
  sound: boolean
}

/** Whether it was said. A failure is tried again later; nothing is thrown. */
export type SendResult = { ok: true } | { ok: false; problem: string; retryAfterMs?: number | undefined }

/** A way to reach a person. */
export interface Channel {
  readonly name: ChannelName
  send(message: NotifyMessage, signal: AbortSignal): Promise<SendResult>
}

/** Settles a decision; throws an error that says in words why that cannot be. */
export type AnswerDecision = (number: number, said: RemoteAnswer) => Promise<void>
export type RemoteAnswer = Pick<AnswerEscalation, 'verdict' | 'answer' | 'by'>

/** More shapes than a log needs: what is told leaves the machine. Every repetition is bounded: an agent chooses the text. */
const SECRET_SHAPES: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[hidden key]'],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, '[hidden token]'],
  [/((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{0,200}):[^\s/@]{1,500}@/gi, '$1:[hidden]@'],
  [/\b(npm_|glpat-|hf_|dop_v1_|pypi-|tk_)[A-Za-z0-9_-]{16,}/g, '$1[hidden]'],
  [/\b\d{8,10}:[A-Za-z0-9_-]{30,}/g, '[hidden token]'],
  [/\b([sr]k_(?:live|test)_|whsec_|SG\.)[A-Za-z0-9_.-]{16,}/g, '$1[hidden]'],
  // What stands behind a flag of a command. Of a token only what looks like one: people also ask about flags.
  [/((?<![\w-])--?[\w-]{0,40}?(?:password|passwd|passphrase)\s+)(?!-)("[^"]*"|'[^']*'|[^\s"']+)/gi, '$1[hidden]'],
  [
    /((?<![\w-])--[\w-]{0,40}?(?:secret|token|api-?key|credential)s?\s+)(?!-)("[^"]*"|'[^']*'|(?=\S*\d)[^\s"']{4,}|[^\s"']{16,})/gi,
    '$1[hidden]',
  ],
  [
    /\b((?:curl|wget|https?)\s[^|;&\n]{0,300}?-(?:[a-z]{0,6}u|-user|-proxy-user)[ =]?["']?[^\s:"'/]{1,60}):[^\s"']+/gi,
    '$1:[hidden]',
  ],
  [/\b((?:mysql\w*|mariadb\w*)\s[^|;&\n]{0,300}?\s-p)[^\s-]\S*/g, '$1[hidden]'],
  [/\b(sshpass\s+-p\s*)\S+/g, '$1[hidden]'],
  [/(hooks\.slack\.com\/services\/)[A-Za-z0-9/]+/g, '$1[hidden]'],
  [
    /(?<![\w-])([\w-]{0,60}?(?:password|passwd|secret|token|api[_-]?key|credential)[\w-]{0,60})(["']?\s*[:=]\s*["']?)(?!\[hidden)[^\s"',;]{4,}/gi,
    '$1$2[hidden]',
  ],
]

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** Text that may leave the machine: no secrets, no control or invisible characters, and not longer than `longest`. */
export function toSafeText(text: string, longest: number, hidden: Iterable<string> = []): string {
  const visible = stripVTControlCharacters(text.slice(0, LONGEST_READ)).replace(UNSEEN, '')
  let clean = redactText(visible, hidden)
  for (const [shape, instead] of SECRET_SHAPES) clean = clean.replace(shape, instead)
  const trimmed = clean.trim()
  return trimmed.length > longest ? `${trimmed.slice(0, longest - 1).toWellFormed()}…` : trimmed.toWellFormed()
}

/** The same on one line. */
export function toSafeLine(text: string, longest: number, hidden: Iterable<string> = []): string {
  return toSafeText(text.slice(0, LONGEST_READ).replace(/\s+/g, ' '), longest, hidden)
}

/** A tool's whole output is no notification, and patterns over megabytes take their time. */
const LONGEST_READ = 20_000
