import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import type { Caller } from '../../domain/access.ts'
import { API_PATH, type ApiRoute } from '../../domain/api-v1/route.ts'
import { API_ROUTES, EVENT_STREAM, type RouteName } from '../../domain/api-v1/routes.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from '../routes/errors.ts'
import { parseKindPatterns } from '../routes/sessions.ts'
import { realOrGiven } from '../routes/tasks.ts'
import { openSpeakerCheck } from '../speakers.ts'
import { addWebhookRoutes } from '../webhooks/receive.ts'
import { type AdmittedCallers, type ApiDoor, findSender, installAdmission } from './admission.ts'
import { installAccessLog, installAudit } from './audit.ts'
import { requireScope } from './authenticate.ts'
import { type ApiCall, confine, type Handler, JsonText, refuseChanged, versionOf } from './call.ts'
import { EventHub } from './event-hub.ts'
import { healthRoutes } from './health.ts'
import { type Once, openOnce } from './idempotency.ts'
import { metricsRoutes } from './metrics.ts'
import { describeApi } from './openapi.ts'
import { overviewHandlers } from './overview-handlers.ts'
import { installProblems, sendProblem } from './problems.ts'
import { openQueueLimit } from './queue-limit.ts'
import { openReach } from './reach.ts'
import { taskHandlers } from './task-handlers.ts'
import { workHandlers } from './work-handlers.ts'

/** A larger body needs a reason, which its route then gives. */
const MAX_BODY_BYTES = 1_000_000
/** No request of ours is nested more deeply; code that walks through a deeper one could run out of stack. */
const MAX_DEPTH = 64

export interface ApiOptions {
  door: ApiDoor
  maxStreams: number
  queueSize: number
}

/** The API, behind the Unix socket and the TCP listener alike. */
export interface ApiServer extends AsyncDisposable {
  /** Answers a request from outside. */
  answer(request: IncomingMessage, response: ServerResponse): void
  /** Answers a request that the guard of the Unix socket has let in. */
  answerOwner(request: IncomingMessage, response: ServerResponse): void
  /** How many event streams are open. */
  readonly streams: number
}

/** Builds the API. It does not listen: whoever listens hands the requests over. */
export async function openApi(daemon: DaemonContext, { door, maxStreams, queueSize }: ApiOptions): Promise<ApiServer> {
  const { log, store } = daemon
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    genReqId: openRequestIds(),
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200 },
    frameworkErrors: (_error, _request, reply: FastifyReply) =>
      void sendProblem(reply, new AppError('bad_request', { problem: 'The path of the request cannot be read.' })),
  })
  installProblems(app, log)
  const owners = new WeakSet<IncomingMessage>()
  const speakers = openSpeakerCheck(daemon, { refusesItself: true })
  const isFromSocket = (raw: IncomingMessage) => owners.has(raw)
  const admission = installAdmission(app, { daemon, door: () => door, speakers, isFromSocket })
  installAccessLog(app, { access: daemon.access, callerOf: admission.findCaller })
  installAudit(app, {
    store,
    log,
    callerOf: request => (isReadOnly(request) ? undefined : admission.callerOf(request)),
  })
  acceptOnlyJson(app)
  healthRoutes(app, daemon)
  metricsRoutes(app, daemon)
  const hub = new EventHub({
    ...{ store, maxStreams, closing: daemon.settled },
    failed: error => log.error({ error }, 'events of the API are no longer followed'),
  })
  addRoutes(app, { daemon, admission, queueSize })
  addEventStream(app, { daemon, admission, hub })
  await addWebhookRoutes(app, { webhooks: daemon.webhooks, store, log, senderOf: request => findSender(request, door) })
  let document: string | undefined
  app.get(`${API_PATH}/openapi.json`, async (request, reply) => {
    requireScope(admission.callerOf(request), 'read')
    document ??= JSON.stringify(describeApi())
    return reply.type('application/json; charset=utf-8').send(document)
  })
  await app.ready()
  return {
    answer: (request, response) => app.routing(request, response),
    answerOwner(request, response) {
      owners.add(request)
      app.routing(request, response)
    },
    get streams() {
      return hub.open
    },
    [Symbol.asyncDispose]: () => app.close(),
  }
}

/** Ids of requests. No two daemons begin with the same letters, so an id stands for one request in logs of many days. */
function openRequestIds(): () => string {
  const daemon = secretId(9)
  let count = 0
  return () => `${daemon}-${++count}`
}

function isReadOnly({ routeOptions }: FastifyRequest): boolean {
  const { route } = routeOptions.config as { route?: ApiRoute }
  return route?.readOnly === true
}

interface RouteDeps {
  daemon: DaemonContext
  admission: AdmittedCallers
}

function addRoutes(app: FastifyInstance, { daemon, admission, queueSize }: RouteDeps & { queueSize: number }): void {
  const reach = openReach(daemon)
  const handlers = {
    ...taskHandlers(daemon, { reach, queue: openQueueLimit(daemon, queueSize) }),
    ...workHandlers(daemon, reach),
    ...overviewHandlers(daemon, reach),
  }
  const once = openOnce(daemon.store)
  for (const [name, route] of Object.entries(API_ROUTES) as [RouteName, ApiRoute][]) {
    const handle = handlers[name] as unknown as Handler<ApiRoute>
    const deps = { route, admission, once, handle, guard: guardOf(route) }
    app.route({
      method: route.method,
      url: toPattern(route.path),
      bodyLimit: route.maxBytes ?? MAX_BODY_BYTES,
      config: { route },
      handler: (request, reply) => answerRoute(request, reply, deps),
    })
  }

  function guardOf({ guardedBy }: ApiRoute): Guard | undefined {
    if (guardedBy === undefined) return undefined
    const { versioned } = API_ROUTES[guardedBy as RouteName] as ApiRoute
    const read = handlers[guardedBy as RouteName] as unknown as Handler<ApiRoute>
    return async ({ ifMatch, ...call }, what) => {
      if (ifMatch === undefined) return
      // A read of a project takes it from the query, a change from the body.
      const now = await read({ ...call, ifMatch: undefined, query: call.query ?? call.body } as ApiCall<ApiRoute>)
      refuseChanged(what, textOf(now), ifMatch, versioned)
    }
  }
}

/** Throws `changed_meanwhile` if a change names a version of what it changes that is not the current one. */
type Guard = (call: ApiCall<ApiRoute>, what: string) => Promise<void>

function textOf(result: unknown): string {
  return result instanceof JsonText ? result.text : JSON.stringify(result)
}

/** `/tasks/{task}` as Fastify writes it. */
function toPattern(path: string): string {
  return `${API_PATH}${path.replace(/\{(\w+)\}/g, ':$1')}`
}

interface Answering {
  route: ApiRoute
  admission: AdmittedCallers
  once: Once
  handle: Handler<ApiRoute>
  guard: Guard | undefined
}

/** Parses a request, keeps it within its caller's reach, and sends what the handler returns. */
async function answerRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, admission, once, handle, guard }: Answering,
): Promise<FastifyReply> {
  const caller = admission.callerOf(request)
  requireScope(caller, route.scope)
  const call = readCall(request, route, { caller, admission })
  const confined = confine(route, call, caller)
  if (confined) await confined
  const work = async () => {
    if (guard) await guard(call, request.url.slice(API_PATH.length))
    const result = await handle(call)
    const version = result instanceof JsonText && route.versioned === true ? result.version : undefined
    return { status: route.status ?? 200, json: textOf(result), version }
  }
  const key = route.creates ? request.headers['idempotency-key'] : undefined
  const { status, json, version: known } = key === undefined ? await work() : await runOnce(String(key))
  reply.code(status).type('application/json; charset=utf-8').header('cache-control', 'no-store')
  if (!route.versioned) return reply.send(json)
  const version = known ?? versionOf(json, route.versioned)
  reply.header('etag', version)
  // A version that leaves something out does not say that the whole reply is the same.
  const isWhole = route.method === 'GET' && route.versioned === true
  const isKnown = isWhole && request.headers['if-none-match'] === version
  return isKnown ? reply.code(304).send() : reply.send(json)

  async function runOnce(key: string) {
    const name = `${request.method} ${request.url}`
    const done = await once.run({ caller: caller.name, key, route: name, body: request.body }, work)
    if (done.isRepeated) reply.header('idempotency-replayed', 'true')
    return { ...done, version: undefined }
  }
}

function readCall(request: FastifyRequest, route: ApiRoute, { caller, admission }: Calling): ApiCall<ApiRoute> {
  const name = `${route.method} ${route.path}`
  return {
    params: route.params && parseRequest(route.params, request.params, name),
    query: route.query && parseRequest(route.query, request.query, name),
    body: route.body && parseRequest(route.body, request.body, name),
    ifMatch: request.headers['if-match'],
    caller,
    refuseUnknownApproval: asked => admission.refuseUnknownApproval(request, asked),
  } as ApiCall<ApiRoute>
}

interface Calling {
  caller: Caller
  admission: AdmittedCallers
}

/** The stream of events: it begins where the client stopped, or now. */
function addEventStream(app: FastifyInstance, { daemon, admission, hub }: RouteDeps & { hub: EventHub }): void {
  app.get(toPattern(EVENT_STREAM.path), async (request, reply) => {
    const caller = admission.callerOf(request)
    requireScope(caller, EVENT_STREAM.scope)
    const call = readCall(request, EVENT_STREAM, { caller, admission })
    await confine(EVENT_STREAM, call, caller)
    const { query } = call
    const { project, subject, kind, after } = query as ReturnType<typeof EVENT_STREAM.query.parse>
    const seen = request.headers['last-event-id']
    const isWanted = kind === undefined ? undefined : parseKindPatterns(kind)
    const wanted = project === undefined ? undefined : await realOrGiven(project)
    const last =
      seen === undefined ? after : parseRequest(EVENT_STREAM.query.shape.after, String(seen), 'Last-Event-ID')
    const isWelcome = async () =>
      caller.via === 'socket' || (await daemon.authenticator.authenticate(request)) !== undefined
    hub.refuseTooMany()
    reply.hijack()
    const stream = hub.serve({ response: reply.raw, after: last, project: wanted, subject, isWanted, isWelcome })
    daemon.streams.add(stream)
    await stream
      .catch(error => daemon.log.warn({ error }, 'event stream failed'))
      .finally(() => daemon.streams.delete(stream))
  })
}

/** Bodies are JSON or absent. */
function acceptOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    if (isTooDeep(body as string)) {
      return done(new AppError('bad_request', { problem: `The body is nested more than ${MAX_DEPTH} times.` }))
    }
    parse(request, body as string, done)
  })
}

/** Whether brackets are nested too deeply. Those in texts are not counted. */
function isTooDeep(json: string): boolean {
  let depth = 0
  let isText = false
  for (let at = 0; at < json.length; at++) {
    const character = json.charCodeAt(at)
    if (isText) {
      if (character === BACKSLASH) at++
      else if (character === QUOTE) isText = false
    } else if (character === QUOTE) isText = true
    else if (character === OPEN_LIST || character === OPEN_OBJECT) {
      if (++depth > MAX_DEPTH) return true
    } else if (character === CLOSE_LIST || character === CLOSE_OBJECT) depth--
  }
  return false
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [...'"\\[]{}'].map(c => c.charCodeAt(0))
