import { stripVTControlCharacters } from 'node:util'
import { neutral } from '../../base/neutral.ts'
import { redactText } from '../../base/redact.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { AnswerEscalation } from '../../domain/escalation.ts'
import type { ChannelName, NoticeKind } from '../../domain/option-values.ts'

export type NotifySettings = Config['notifications']

/** What people are told about an event, as text that may leave the machine: redacted, and with control characters drawn. */
export interface Notice {
  kind: NoticeKind
  /** Two notices with the same key are one. */
  key: string
  title: string
  text: string
  /** The decision that waits for an answer, if any. */
  decision?: NoticeDecision | undefined
  /** A person is at a terminal that shows it: only the bell is rung. */
  bellOnly?: true
  /** The directory of the project that it is about, if it is about one. It is stored, but not sent. */
  project?: string | undefined
}

export interface NoticeDecision {
  number: number
  /** A hash of the row itself: the same number may be another question in another data directory. */
  mark: string
  kind: 'permission' | 'question' | 'error' | 'review'
  /** Labels of the options, if exactly one question is asked. */
  options: string[]
  /** How many questions are asked at once. */
  parts: number
  /** Whether the text of the notice shows all that is asked: only then a channel may offer to approve it. */
  whole?: boolean
}

/** One message for a channel: a notice, or the roll-up of many. */
export interface NotifyMessage {
  kind: NoticeKind
  title: string
  text: string
  decision?: NoticeDecision | undefined
  sound: boolean
}

/** Whether a message was sent. A failure is tried again later; nothing is thrown. */
export type SendResult = { ok: true } | { ok: false; problem: string; retryAfterMs?: number | undefined }

/** A way to reach a person. */
export interface Channel {
  readonly name: ChannelName
  send(message: NotifyMessage, signal: AbortSignal): Promise<SendResult>
}

/** Settles a decision; throws an error whose message says why that is not possible. */
export type AnswerDecision = (number: number, answer: RemoteAnswer) => Promise<void>
export type RemoteAnswer = Pick<AnswerEscalation, 'verdict' | 'answer' | 'by'>

/** More patterns than a log needs, because notices leave the machine. Every repetition is bounded, because agents choose the text. */
const SECRET_SHAPES: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[hidden key]'],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, '[hidden token]'],
  [/((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{0,200}):[^\s/@]{1,500}@/gi, '$1:[hidden]@'],
  [/\b(npm_|glpat-|hf_|dop_v1_|pypi-|tk_)[A-Za-z0-9_-]{16,}/g, '$1[hidden]'],
  [/\b\d{8,10}:[A-Za-z0-9_-]{30,}/g, '[hidden token]'],
  [/\b([sr]k_(?:live|test)_|whsec_|SG\.)[A-Za-z0-9_.-]{16,}/g, '$1[hidden]'],
  // The value after a flag of a command. After a token flag only what looks like a token is hidden: people also ask about flags.
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

/** Text that may leave the machine: no secrets, control and invisible characters drawn, and not longer than `longest`. */
export function toSafeText(text: string, longest: number, hidden: Iterable<string> = []): string {
  const read = text.slice(0, LONGEST_READ)
  const [drawn, bare] = [hideAll(neutral(read), hidden), hideAll(neutral(stripVTControlCharacters(read)), hidden)]
  // A drawn sequence may stand so close to a secret that the secret is not recognised.
  const trimmed = (countHidden(bare) > countHidden(drawn) ? bare : drawn).trim()
  return trimmed.length > longest ? `${trimmed.slice(0, longest - 1).toWellFormed()}…` : trimmed.toWellFormed()
}

function hideAll(text: string, hidden: Iterable<string>): string {
  return SECRET_SHAPES.reduce(
    (clean, [shape, replacement]) => clean.replace(shape, replacement),
    redactText(text, hidden),
  )
}

function countHidden(text: string): number {
  return text.split('[hidden').length
}

/** The same on one line. */
export function toSafeLine(text: string, longest: number, hidden: Iterable<string> = []): string {
  return toSafeText(toLine(text.slice(0, LONGEST_READ)), longest, hidden)
}

/** A text on one line. Only spaces and line ends are folded: other characters without ink are drawn. */
export function toLine(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(/[ \t\n]+/g, ' ')
}

/** A notice need not quote a tool's whole output, and patterns take long over megabytes. */
const LONGEST_READ = 20_000
