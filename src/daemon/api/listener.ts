import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, isIP } from 'node:net'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { ApiDoor } from './admission.ts'

export type ApiSettings = Config['api']

export interface Listener extends AsyncDisposable {
  /** The address for clients. */
  readonly address: string
  readonly door: ApiDoor
  readonly connections: Promise<number>
  /** When the certificate runs out. */
  readonly expiresAt: number | undefined
  /** From now on requests are answered. */
  serve(answer: RequestListener): void
  /** Takes no new connections; those that are open go on. */
  stopAccepting(): void
}

/** What a client may cost us. */
export const LIMITS = {
  /** A client that has not sent the head of its request by then is closed; so is one that connects and says nothing. */
  headersTimeout: 10_000,
  /** The whole request must be there by then. */
  requestTimeout: 60_000,
  /** How often that is checked. */
  connectionsCheckingInterval: 5_000,
  /** An idle connection of a client that sends more later. */
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
  /** Further ones are closed at once. */
  maxConnections: 1_200,
}

/**
 * Listens for clients of the API. On an address that others can reach it does so only with TLS or behind stated proxies, and only if
 * there is a key. Throws `api_address`, `api_certificate` or `api_port_taken`.
 */
export async function openListener(
  settings: ApiSettings,
  { hasKeys, now = Date.now(), limits = LIMITS }: { hasKeys: boolean; now?: number; limits?: typeof LIMITS },
): Promise<Listener> {
  const { host } = settings
  const tls = readCertificate(settings, now)
  refuseOpenAddress(settings, { hasKeys, isEncrypted: tls !== undefined })
  const server: Server = tls ? createTlsServer({ ...limits, ...tls.files }) : createServer(limits)
  server.maxConnections = limits.maxConnections
  server.listen({ host, port: settings.port, exclusive: true })
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    const address = `${host}:${settings.port}`
    if (error.code === 'EADDRINUSE') throw new AppError('api_port_taken', { address }, error)
    throw new AppError('api_address', { address, problem: error.code ?? messageOf(error) }, error)
  })
  // A failing accept must not end the daemon.
  server.on('error', () => {})
  const { port } = server.address() as AddressInfo
  const scheme = tls ? 'https' : 'http'
  return {
    address: `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    door: describeDoor(settings, { port, scheme }),
    expiresAt: tls?.expiresAt,
    get connections() {
      return new Promise<number>(resolve => server.getConnections((_, count) => resolve(count ?? 0)))
    },
    serve: answer => void server.on('request', answer),
    stopAccepting: () => void server.close(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}

/** The names under which the API is reached. A browser that was tricked into asking us sends another one (DNS rebinding). */
function describeDoor(settings: ApiSettings, { port, scheme }: { port: number; scheme: string }): ApiDoor {
  const { host, hosts: names, trusted_proxies: proxies, requests_per_minute: requestsPerMinute } = settings
  const own = ['localhost', '127.0.0.1', '[::1]', isIP(host) === 6 ? `[${host}]` : host].map(name => `${name}:${port}`)
  const given = names.flatMap(name => [name, `${name}:${port}`])
  const hosts = new Set([...own, ...given].map(name => name.toLowerCase()))
  const schemes = proxies.length > 0 ? ['http', 'https'] : [scheme]
  const origins = new Set(schemes.flatMap(one => [...hosts].map(name => `${one}://${name}`)))
  return { hosts, origins, proxies, requestsPerMinute }
}

function refuseOpenAddress(
  { host, port, trusted_proxies: proxies }: ApiSettings,
  { hasKeys, isEncrypted }: { hasKeys: boolean; isEncrypted: boolean },
): void {
  const refuse = (problem: string) => new AppError('api_address', { address: `${host}:${port}`, problem })
  if (port > 65_535) throw refuse('there is no such port')
  const wrong = proxies.find(proxy => !isAddressRange(proxy))
  if (wrong !== undefined) throw refuse(`the proxy ${JSON.stringify(wrong)} is no address`)
  if (isIP(host) === 0 && host !== 'localhost') throw refuse('api.host takes an address such as 127.0.0.1')
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return
  if (!isEncrypted && proxies.length === 0)
    throw refuse('others can reach it, and what they send would not be encrypted')
  if (!hasKeys) throw refuse('others can reach it, and there is no key yet (pcc api keys create)')
}

/** An address, or a range as in `10.0.0.0/8`. */
function isAddressRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32))
}

interface Certificate {
  files: { cert: Buffer; key: Buffer }
  expiresAt: number
}

function readCertificate({ tls_cert, tls_key }: ApiSettings, now: number): Certificate | undefined {
  if (tls_cert === undefined && tls_key === undefined) return undefined
  const file = tls_cert ?? tls_key ?? ''
  const refuse = (problem: string) => new AppError('api_certificate', { file, problem })
  if (tls_cert === undefined || tls_key === undefined) throw refuse('api.tls_cert and api.tls_key belong together')
  let expiresAt: number
  let files: Certificate['files']
  try {
    files = { cert: readFileSync(tls_cert), key: readFileSync(tls_key) }
    const certificate = new X509Certificate(files.cert)
    expiresAt = certificate.validToDate.getTime()
    if (certificate.validFromDate.getTime() > now) throw refuse(`it is valid from ${certificate.validFrom} on`)
    if (expiresAt <= now) throw refuse(`it ran out on ${certificate.validTo}`)
    if (!certificate.checkPrivateKey(createPrivateKey(files.key)))
      throw refuse('the key is not that of the certificate')
  } catch (error) {
    throw error instanceof AppError ? error : refuse(messageOf(error))
  }
  return { files, expiresAt }
}
