import { type LookupAddress, lookup } from 'node:dns'
import { once } from 'node:events'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { messageOf } from '../../base/errors.ts'
import type { SendResult } from '../../human/notify/notice.ts'

/** An address that has not answered after this time is tried again later. */
const PATIENCE_MS = 15_000

export interface GuardedPost {
  url: string
  headers: Record<string, string>
  body: string
  /** Loopback, private and other special addresses, and http without TLS, are allowed. */
  allowsPrivate: boolean
  signal: AbortSignal
}

/**
 * Posts to an address that a person has listed. The name is looked up once, and the connection goes to the address that was checked: a
 * name cannot be public while it is checked and private when it is called. Redirects are not followed. Never throws.
 */
export async function postGuarded({ url, headers, body, allowsPrivate, signal }: GuardedPost): Promise<SendResult> {
  const address = URL.parse(url)
  if (!address) return { ok: false, problem: `${url} is no address` }
  const { protocol, hostname } = address
  const host = hostname.replace(/^\[|\]$/g, '')
  if (!allowsPrivate && protocol !== 'https:') return refuse('it is not https')
  if (!allowsPrivate && isIP(host) !== 0 && !isPublic(host)) return refuse(`${host} is no public address`)
  const until = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
  try {
    const send = protocol === 'https:' ? requestHttps : requestHttp
    const request = send(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      agent: false,
      signal: until,
      lookup: allowsPrivate ? undefined : lookUpPublic,
    })
    request.end(body)
    const [reply] = (await once(request, 'response', { signal: until })) as [IncomingMessage]
    // What it says does not matter, and may be endless.
    reply.destroy()
    const { statusCode: status = 0 } = reply
    if (status >= 200 && status < 300) return { ok: true }
    const seconds = Number(reply.headers['retry-after'])
    const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) * 1000 : undefined
    const problem =
      status >= 300 && status < 400 ? `it answers ${status}; redirects are not followed` : `it answers ${status}`
    return { ok: false, problem, retryAfterMs }
  } catch (error) {
    const isLate = until.aborted && !signal.aborted
    return { ok: false, problem: isLate ? `no answer within ${PATIENCE_MS / 1000} s` : messageOf(error) }
  }
}

function refuse(why: string): SendResult {
  return { ok: false, problem: `refused: ${why} (private = "yes" in its section allows it)` }
}

/** Looks a name up and gives only addresses that are public. If one of them is not, none is used: nobody knows which would be. */
const lookUpPublic: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return done(error, '')
    const special = findSpecial(found)
    const [first] = found
    if (special || !first) {
      const why = special ? `${hostname} is ${special.address}, no public address` : `${hostname} has no address`
      return done(new Error(`refused: ${why} (private = "yes" in its section allows it)`), '')
    }
    if (options.all) done(null, [first])
    else done(null, first.address, first.family)
  })
}

/** One of the addresses of a name that is not public. */
export function findSpecial(found: readonly LookupAddress[]): LookupAddress | undefined {
  return found.find(({ address }) => !isPublic(address))
}

/** Public for the lists, but only the machine's own host answers there. */
const METADATA: ReadonlySet<string> = new Set(['168.63.129.16'])

/** Whether an address is one of the internet, and not of this machine, this network or a cloud's own services. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address.split('%')[0] ?? '')
  if (METADATA.has(parsed.toString())) return false
  if (parsed.range() !== 'unicast') return false
  // Of version 6 only 2000::/3 is given out; what is outside of it stands for something else.
  return parsed.kind() === 'ipv4' || ((parsed.toByteArray()[0] ?? 0) & 0xe0) === 0x20
}
