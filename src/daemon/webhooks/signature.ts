import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** A message as it came: nothing in it is believed before `checkMessage` has returned its id. */
export interface ReceivedMessage {
  headers: IncomingHttpHeaders
  body: Buffer
}

/** What a signed message is known by. */
export interface CheckedMessage {
  /** The sender's id. It is not signed, so the digest counts as well. */
  delivery: string
  digest: string
  event: string
}

export type MessageCheck = CheckedMessage | { problem: 'signature' | 'late'; why: string }

/** How the messages of a webhook are signed. */
export type SignatureKind =
  | { by: 'github' | 'bearer' | 'telegram' | 'pcc' }
  /** The HMAC of the body alone, in hex, in a header of the sender's choice. */
  | { by: 'header'; header: string }

/** A signature that says its time is refused when the clocks differ by more than this. */
const CLOCK_MS = 5 * 60_000

/** Checks who sent a message, over its bytes as they came. */
export function checkMessage(
  { headers, body }: ReceivedMessage,
  { secret, kind, now }: { secret: string; kind: SignatureKind; now: number },
): MessageCheck {
  const digest = createHash('sha256').update(body).digest('hex')
  const header = (name: string) => [headers[name] ?? ''].flat()[0] ?? ''
  const named = (name: string, otherwise = digest) => (/^[\w.-]{1,100}$/.test(header(name)) ? header(name) : otherwise)
  switch (kind.by) {
    case 'github': {
      const signature = header('x-hub-signature-256')
      if (!isSame(signature, `sha256=${hmac(secret, body)}`)) return forged('X-Hub-Signature-256', signature)
      const event = /^[a-z_]{1,60}$/.exec(header('x-github-event'))?.[0] ?? 'unknown'
      return { delivery: named('x-github-delivery'), digest, event }
    }
    case 'header': {
      const signature = header(kind.header.toLowerCase()).replace(/^sha256=/, '')
      if (!isSame(signature.toLowerCase(), hmac(secret, body))) return forged(kind.header, signature)
      return { delivery: digest, digest, event: 'message' }
    }
    case 'bearer': {
      const token = /^Bearer +(.+)$/i.exec(header('authorization'))?.[1] ?? ''
      return isSame(token, secret) ? { delivery: digest, digest, event: 'alerts' } : forged('Authorization', token)
    }
    case 'telegram': {
      const token = header('x-telegram-bot-api-secret-token')
      if (!isSame(token, secret)) return forged('X-Telegram-Bot-Api-Secret-Token', token)
      return { delivery: digest, digest, event: 'update' }
    }
    case 'pcc': {
      const given = header('x-pcc-signature')
      const [, seconds, signature = ''] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(given) ?? []
      if (seconds === undefined || !isSame(`t=${seconds},v1=${signature}`, signPcc(secret, body, Number(seconds))))
        return forged('X-PCC-Signature', given)
      if (Math.abs(now - Number(seconds) * 1000) > CLOCK_MS)
        return { problem: 'late', why: `it was signed ${new Date(Number(seconds) * 1000).toISOString()}` }
      const event = /^[\w.-]{1,60}$/.exec(header('x-pcc-event'))?.[0] ?? 'message'
      // The time is signed too: the same words an hour later are another message.
      const timed = createHash('sha256').update(`${seconds}.`).update(body).digest('hex')
      return { delivery: named('x-pcc-delivery', timed), digest: timed, event }
    }
  }
}

/** The value of `X-PCC-Signature`: the time in seconds, and the HMAC of that time, a dot and the body. */
export function signPcc(secret: string, body: string | Buffer, seconds: number): string {
  const signature = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex')
  return `t=${seconds},v1=${signature}`
}

function hmac(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

function forged(name: string, given: string): MessageCheck {
  return { problem: 'signature', why: given === '' ? `it has no ${name}` : `its ${name} is not that of the secret` }
}

/** Compares without telling by its time how much is right. The hashes have one length. */
function isSame(given: string, right: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(right))
}
