import * as z from 'zod'
import { OpenAsk, SessionView } from '../../domain/api.ts'
import { API_PATH, type ApiRoute, Problem } from '../../domain/api-v1/route.ts'
import { API_ROUTES, EVENT_STREAM } from '../../domain/api-v1/routes.ts'
import { EventView } from '../../domain/api-v1/task-routes.ts'
import { EscalationView } from '../../domain/escalation.ts'
import { Evidence } from '../../domain/evidence.ts'
import { FeatureView } from '../../domain/feature.ts'
import { MergeView } from '../../domain/merge.ts'
import { Need } from '../../domain/needs.ts'
import { QuotaView } from '../../domain/quota.ts'
import { AttemptView, RunDetail, RunView } from '../../domain/run.ts'
import { TaskView } from '../../domain/task.ts'
import { WorktreeView } from '../../domain/worktree.ts'

type Json = Record<string, unknown>

/** Replies that several routes send, each described once. */
const NAMED = {
  ...{
    AttemptView,
    EscalationView,
    EventView,
    Evidence,
    FeatureView,
    MergeView,
    Need,
    OpenAsk,
    Problem,
    QuotaView,
    RunDetail,
  },
  ...{ RunView, SessionView, TaskView, WorktreeView },
}

/** The OpenAPI 3.1 description of the API, made from the routes. `docs/openapi.json` is a copy of it. */
export function describeApi(): Json {
  const paths: Record<string, Json> = {}
  for (const [name, route] of [...Object.entries(API_ROUTES), ['followEvents', EVENT_STREAM] as const]) {
    const path = `${API_PATH}${route.path}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(name, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'PerpetualCC', version: '1', summary: 'Every part of the daemon for other programs' },
    servers: [{ url: 'http://127.0.0.1:8765' }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A key (`pcc api keys create`) or a JWT' },
      },
      schemas: Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, describeNamed(name, schema)])),
    },
  }
}

function describeRoute(name: string, route: ApiRoute): Json {
  const { params, query, body, creates, versioned, guardedBy, method } = route
  const headers = [
    ...(creates
      ? [header('Idempotency-Key', 'A repeated request with the same key and body gets the first reply')]
      : []),
    ...(versioned === true && method === 'GET' ? [header('If-None-Match', 'Answers 304 if it is this version')] : []),
    ...(guardedBy ? [header('If-Match', `The \`ETag\` of ${guardedBy}; answers 412 if there is a newer one`)] : []),
    ...(name === 'followEvents' ? [header('Last-Event-ID', 'The id of the last event that the client has')] : []),
  ]
  return {
    operationId: name,
    tags: [route.noun],
    summary: route.summary,
    'x-scope': route.scope,
    parameters: [...fields('path', params), ...fields('query', query), ...headers],
    ...(body && { requestBody: { required: !body.safeParse(undefined).success, content: json(body, 'input') } }),
    responses: { ...describeReply(name, route), default: PROBLEM },
  }
}

function describeReply(name: string, { status = 200, reply, versioned }: ApiRoute): Json {
  const content =
    name === 'followEvents' ? { 'text/event-stream': { schema: schemaOf(reply, 'output') } } : json(reply, 'output')
  const headers = versioned && { headers: { ETag: { schema: { type: 'string' } } } }
  return { [status]: { description: 'Done', content, ...headers } }
}

const PROBLEM = {
  description: 'An error; pcc docs errors lists each `code`',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

function fields(where: 'path' | 'query', schema: z.ZodObject | undefined): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as { properties?: Json; required?: string[] }
  return Object.entries(properties).map(([name, field]) => ({
    ...{ name, in: where, required: where === 'path' || required.includes(name), schema: field },
  }))
}

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } }
}

function json(schema: z.ZodType, io: 'input' | 'output'): Json {
  return { 'application/json': { schema: schemaOf(schema, io) } }
}

/** A zod schema as JSON Schema. What a transformation makes of a text is not described, only the text. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', metadata = namedSchemas()): Json {
  const { $schema: _, $defs: __, ...described } = z.toJSONSchema(schema, { io, unrepresentable: 'any', metadata })
  return JSON.parse(JSON.stringify(described).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json
}

function describeNamed(name: string, schema: z.ZodType): Json {
  const { id: _, ...described } = schemaOf(schema, 'output', namedSchemas(name))
  return described
}

/** The schemas that are referred to by their names, without the one that is being described. */
function namedSchemas(except?: string): z.core.$ZodRegistry<{ id?: string }> {
  const named = z.registry<{ id?: string }>()
  for (const [id, schema] of Object.entries(NAMED)) if (id !== except) named.add(schema, { id })
  return named
}
