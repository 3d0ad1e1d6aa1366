import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Scope } from '../../../src/domain/access.ts'
import type { ApiStatus } from '../../../src/domain/api.ts'
import { API_PATH } from '../../../src/domain/api-v1/route.ts'
import type { DaemonProcess, Sent } from '../daemon-process.ts'

export interface ApiAnswer {
  status: number
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
  body: any
}

/** Calls the API over TCP. A path that does not begin with the one of the API is taken as it is. */
export type CallApi = (method: string, path: string, sent?: Sent) => Promise<ApiAnswer>

/** The settings with which a daemon listens on a free port. */
export const LISTENING = { PCC_API_ENABLED: 'true', PCC_API_PORT: '0' }

/** A key of the daemon, and calls with it. */
export async function callerWith(
  daemon: DaemonProcess,
  key: { scope: Scope; project?: string },
): Promise<{ secret: string; address: string; call: CallApi }> {
  const { body } = await daemon.call('POST', '/api-keys', { body: key })
  const { address } = (await daemon.call<ApiStatus>('GET', '/daemon/api')).body
  if (address === null) throw new Error('the API does not listen')
  const { secret } = body as { secret: string }
  // The daemon looks once a second who is at the other end of a connection, so a new one for every call would cost most of the time.
  const agent = new Agent({ keepAlive: true })
  const call: CallApi = (method, path, sent = {}) => callApi(address, secret, { method, path, agent, ...sent })
  return { secret, address, call }
}

export async function callApi(
  address: string,
  secret: string | undefined,
  { method, path, body, raw, headers = {}, agent }: Sent & { method: string; path: string; agent?: Agent },
): Promise<ApiAnswer> {
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const all: Record<string, string | undefined> = {
    ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    ...(sent !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  }
  const given = Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  const isWhole = path.startsWith('/internal') || path.startsWith('/health') || path.startsWith('//')
  const url = `${address}${isWhole ? path.replace(/^\/\//, '/') : `${API_PATH}${path}`}`
  const asked = request(url, { method, headers: given, agent: agent ?? false })
  asked.end(sent)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  // The daemon may close the connection before it has read the whole body.
  asked.on('error', () => {})
  const answer = await text(response)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: answer === '' ? undefined : JSON.parse(answer),
  }
}
