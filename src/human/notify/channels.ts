import type { NoticeKind } from '../../domain/option-values.ts'
import type { Channel, SendResult } from './notice.ts'

/** Rings at every terminal that shows a session. If nobody is attached, nobody hears it, and that is no failure. */
export function bellChannel(ring: (text: string) => Promise<void>): Channel {
  return {
    name: 'bell',
    send: async ({ title }) => {
      try {
        await ring(title)
        return { ok: true }
      } catch (error) {
        return { ok: false, problem: String(error) }
      }
    },
  }
}

export interface Ntfy {
  server: string
  topic: string
  token?: string | undefined
}

const TAGS: Record<NoticeKind, string> = {
  question: 'question',
  error: 'rotating_light',
  rate_limit: 'hourglass',
  report: 'newspaper',
  complete: 'white_check_mark',
}

/** Publishes to an ntfy topic, as JSON, so that no header has to hold an agent's text. */
export function ntfyChannel({ server, topic, token }: Ntfy): Channel {
  return {
    name: 'ntfy',
    send: ({ kind, title, text, sound }, signal) =>
      postJson({
        url: server,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        body: { topic, title, message: fitBytes(text || title), priority: priorityOf(kind, sound), tags: [TAGS[kind]] },
        signal,
        secrets: [topic, token ?? ''],
      }),
  }
}

/** ntfy sends a longer message as a file. */
const LONGEST_NTFY = 4_000

function fitBytes(text: string): string {
  const bytes = Buffer.from(text)
  return bytes.length <= LONGEST_NTFY
    ? text
    : `${new TextDecoder().decode(bytes.subarray(0, LONGEST_NTFY), { stream: true })}…`
}

/** Priority 2 makes no sound, 4 is shown above others. */
function priorityOf(kind: NoticeKind, sound: boolean): number {
  if (!sound) return 2
  return kind === 'question' || kind === 'error' ? 4 : 3
}

/** Posts to an incoming webhook, as Slack, Mattermost and others offer. */
export function slackChannel(webhook: string): Channel {
  return {
    name: 'slack',
    send: ({ title, text }, signal) =>
      postJson({
        url: webhook,
        body: { text: text === '' ? `*${escapeMarkup(title)}*` : `*${escapeMarkup(title)}*\n${escapeMarkup(text)}` },
        signal,
        secrets: [webhook, new URL(webhook).pathname],
      }),
  }
}

/** Unescaped angle brackets would make links and mentions (`<!channel>` wakes everybody). */
export function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** A server that has not answered after this time is tried again later. */
const PATIENCE_MS = 15_000
const LONGEST_REPLY = 4_096

export interface PostJson {
  url: string
  body: unknown
  headers?: Record<string, string>
  signal: AbortSignal
  /** Values that never appear in the description of a failure. */
  secrets: readonly string[]
}

/** Posts JSON. Every failure is returned as a value, and none of them contains a secret. */
export async function postJson({ url, body, headers, signal, secrets }: PostJson): Promise<SendResult> {
  try {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      // Following a redirect would send the message to an address that the user did not name.
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    })
    const text = (await reply.text()).slice(0, LONGEST_REPLY)
    if (reply.ok) return { ok: true }
    const problem = hideSecrets(
      `${reply.status} ${reply.statusText}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`,
      secrets,
    )
    return { ok: false, problem, retryAfterMs: readRetryAfter(reply, text) }
  } catch (error) {
    return { ok: false, problem: hideSecrets(describeError(error), secrets) }
  }
}

/** A failed request in words, with the message of its cause. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${PATIENCE_MS / 1000} s`
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/** Removes secrets from a text that is logged or shown. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter(secret => secret !== '').reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
}

/** The wait that HTTP asks for in seconds, or Telegram in the body. */
function readRetryAfter(reply: Response, text: string): number | undefined {
  const seconds = Number(reply.headers.get('retry-after') ?? /"retry_after"\s*:\s*(\d+)/.exec(text)?.[1])
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
}
