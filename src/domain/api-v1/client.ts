import type { StoredEvent } from '../event.ts'
import { API_PATH, type ApiRoute, type Problem, type RouteReply, type RouteRequest } from './route.ts'
import { API_ROUTES, type ApiRoutes, EVENT_STREAM, type RouteName } from './routes.ts'

/** An error that the API answered. `code` is one of docs/errors.md. */
export class ApiError extends Error {
  readonly problem: Problem
  /** The seconds after which it is worth trying again, if the API said so. */
  readonly retryAfter: number | undefined

  constructor(problem: Problem, retryAfter?: number) {
    super(problem.detail)
    this.name = 'ApiError'
    this.problem = problem
    this.retryAfter = retryAfter
  }
}

export interface ApiAddress {
  /** As `pcc daemon api status` prints it. */
  address: string
  key: string
  /** Replaces the fetch of the platform. */
  fetch?: typeof fetch
}

export interface ApiReply<Body> {
  body: Body
  status: number
  /** For `ifMatch` of a later change. */
  etag: string | undefined
}

export interface ApiClient {
  /** Calls a route by its name. Throws `ApiError`. */
  call<Name extends RouteName>(
    name: Name,
    request: RouteRequest<ApiRoutes[Name]>,
    signal?: AbortSignal,
  ): Promise<ApiReply<RouteReply<ApiRoutes[Name]>>>
  /** Follows events until the signal or the server ends it; `lastEventId` is that of the last event that was seen. */
  follow(options: FollowEvents): AsyncGenerator<StoredEvent, void, undefined>
}

export type FollowEvents = NonNullable<RouteRequest<typeof EVENT_STREAM>['query']> & {
  lastEventId?: number
  signal?: AbortSignal
}

/** A client of the API. Its types come from the routes themselves; it needs nothing but `fetch`. */
export function openApiClient({ address, key, fetch: send = fetch }: ApiAddress): ApiClient {
  const ask = async (url: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> => {
    const response = await send(`${address}${url}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...init.headers },
      redirect: 'error',
    })
    if (response.ok) return response
    const retry = Number(response.headers.get('retry-after') ?? Number.NaN)
    throw new ApiError((await response.json()) as Problem, Number.isNaN(retry) ? undefined : retry)
  }
  return {
    async call(name, request, signal) {
      const route: ApiRoute = API_ROUTES[name]
      const { params, query, body, idempotencyKey, ifMatch } = request as RouteRequest<ApiRoute>
      const headers = {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      }
      const response = await ask(urlOf(route, params, query), {
        method: route.method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      })
      return {
        body: (await response.json()) as never,
        status: response.status,
        etag: response.headers.get('etag') ?? undefined,
      }
    },
    async *follow({ lastEventId, signal, ...query }) {
      const headers = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }
      const response = await ask(urlOf(EVENT_STREAM, undefined, query), { headers, ...(signal && { signal }) })
      for await (const line of linesOf(response))
        if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as StoredEvent
    },
  }
}

function urlOf({ path }: ApiRoute, params: object = {}, query: object = {}): string {
  const values = params as Record<string, unknown>
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])))
  const asked = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) asked.set(name, String(value))
  return `${API_PATH}${filled}${asked.size === 0 ? '' : `?${asked}`}`
}

async function* linesOf({ body }: Response): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
