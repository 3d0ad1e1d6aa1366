import type { Sent } from '../notice.ts'

/** A server that does not answer by then is tried again later. */
const PATIENCE_MS = 15_000
const LONGEST_REPLY = 4_096

export interface PostJson {
  url: string
  body: unknown
  headers?: Record<string, string>
  signal: AbortSignal
  /** Never part of what is told of a failure. */
  secrets: readonly string[]
}

/** Posts JSON; every way to fail is a value, and none of them names a secret. */
export async function postJson({ url, body, headers, signal, secrets }: PostJson): Promise<Sent> {
  try {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      // An address that sends us elsewhere would be given what was meant for the one that was named.
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    })
    const text = (await reply.text()).slice(0, LONGEST_REPLY)
    if (reply.ok) return { ok: true }
    const problem = without(`${reply.status} ${reply.statusText}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`, secrets)
    return { ok: false, problem, retryAfterMs: retryAfter(reply, text) }
  } catch (error) {
    return { ok: false, problem: without(problemIn(error), secrets) }
  }
}

/** What went wrong on the way, in the words of its first cause. */
export function problemIn(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${PATIENCE_MS / 1000} s`
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/** Takes secrets out of a text that is logged or shown. */
export function without(text: string, secrets: readonly string[]): string {
  return secrets.filter(secret => secret !== '').reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text)
}

/** As HTTP says it in seconds, or Telegram in the body. */
function retryAfter(reply: Response, text: string): number | undefined {
  const seconds = Number(reply.headers.get('retry-after') ?? /"retry_after"\s*:\s*(\d+)/.exec(text)?.[1])
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
}
