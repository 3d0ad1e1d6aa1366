import { describeApi } from '../../../src/daemon/api/openapi.ts'

/** A request that may be wrong in any way. */
export interface WildRequest {
  operation: string
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
  /** Whether the client leaves in the middle of the body. */
  isCut: boolean
}

interface Schema {
  type?: string
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  minimum?: number
}

interface Operation {
  operationId: string
  parameters: { name: string; in: string; schema: Schema }[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
}

/** What would start an agent gets a project that does not exist. */
const STARTS_AGENTS = /^(startSession|startRun|planRun|createFeature|continueFeature)$/

const TEXTS = [
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e999',
    'null',
    'true',
    '../../etc/passwd',
    '%00',
    '\u0000',
    '\ud800',
    '💥',
    'ＡＢＣ',
    '\u202egnp.exe',
  ],
  ...[
    "'; drop table tasks; --",
    '{{7*7}}',
    '*',
    '?',
    '#',
    't-000000',
    's-000000',
    'r-000000',
    '__proto__',
    'constructor',
  ],
  ...['/', '//', '.', '..', 'a'.repeat(199), 'a'.repeat(10_000), 'é'.repeat(300), '\r\nx: y', '[', '\\', '"', '<a>'],
]

/** Makes requests for every route from the description of the API; the same seed makes the same ones. */
export function requestMaker(seed: number, known: { project: string; refs: string[]; key: string }) {
  const random = mulberry(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const chance = (share: number) => random() < share
  const { paths } = describeApi() as { paths: Record<string, Record<string, Operation>> }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )

  const wild = (depth = 0): unknown => {
    const kind = Math.floor(random() * (depth > 3 ? 6 : 8))
    if (kind === 0) return null
    if (kind === 1) return chance(0.5)
    if (kind === 2) return pick([0, -1, 1.5, 1e308, -0, 2 ** 53, 1e-320])
    if (kind <= 5) return chance(0.3) ? pick(known.refs) : pick(TEXTS)
    if (kind === 6) return Array.from({ length: Math.floor(random() * 4) }, () => wild(depth + 1))
    return Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => [pick(TEXTS), wild(depth + 1)]))
  }

  /** A value that a schema describes, except that any part of it may be something else. */
  const makeValue = (schema: Schema, name: string): unknown => {
    if (chance(0.08)) return wild()
    if (schema.const !== undefined) return schema.const
    if (schema.enum) return pick(schema.enum)
    const choices = schema.anyOf ?? schema.oneOf
    if (choices) return makeValue(pick(choices), name)
    if (schema.type === 'object' && schema.properties) {
      const wanted = Object.entries(schema.properties).filter(
        ([key]) => schema.required?.includes(key) || key === 'project' || chance(0.3),
      )
      return Object.fromEntries(wanted.map(([key, part]) => [key, makeValue(part, key)]))
    }
    if (schema.type === 'array')
      return Array.from({ length: Math.floor(random() * 3) }, () => makeValue(schema.items ?? {}, name))
    if (schema.type === 'integer' || schema.type === 'number')
      return Math.floor(random() * 100) + Math.max(0, schema.minimum ?? 0)
    if (schema.type === 'boolean') return chance(0.5)
    if (schema.type === 'string') return textFor(name)
    return wild()
  }

  const textFor = (name: string): string => {
    if (name === 'project') return chance(0.9) ? known.project : pick(TEXTS)
    if (/^(task|session|run|blocker|after|under|subject|merge|parent)$/.test(name))
      return chance(0.6) ? pick(known.refs) : pick(TEXTS)
    if (name === 'since' || name === 'until') return pick(['1h', '22:00', 'yesterday', ...TEXTS])
    return chance(0.7) ? `text ${Math.floor(random() * 1000)}` : pick(TEXTS)
  }

  const spoil = (json: string): string => {
    const at = Math.floor(random() * json.length)
    return pick([
      () => json.slice(0, at),
      () => `${json.slice(0, at)}${pick(TEXTS)}${json.slice(at)}`,
      () => json.replace('{', '{"project":1,"title":2,'),
      () => `${'['.repeat(200)}${json}${']'.repeat(200)}`,
      () => `[${json}]`,
      () => `${json}${json}`,
      () => '{"__proto__":{"x":1}}',
      () => `{"title":"${'x'.repeat(1_200_000)}"}`,
    ])()
  }

  return (): WildRequest => {
    const { path, method, operation } = pick(operations)
    const isStarting = STARTS_AGENTS.test(operation.operationId)
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encode(textFor(name)) || 'x')
    const query = operation.parameters
      .filter(({ in: where }) => where === 'query' && chance(0.4))
      .flatMap(({ name, schema }) => {
        const pair = `${name}=${encode(String(makeValue(schema, name)))}`
        return chance(0.05) ? [pair, pair] : [pair]
      })
    const schema = operation.requestBody?.content['application/json'].schema
    const value = schema && makeValue(schema, '')
    if (isStarting && typeof value === 'object' && value !== null) Object.assign(value, { project: '/nowhere/at/all' })
    const json = value === undefined ? undefined : (JSON.stringify(value) ?? 'null')
    const body = json !== undefined && !isStarting && chance(0.15) ? spoil(json) : json
    return {
      operation: operation.operationId,
      method,
      path: `${filled}${query.length === 0 ? '' : `?${query.join('&')}`}`,
      headers: {
        ...(chance(0.98) && { authorization: `Bearer ${known.key}` }),
        ...(body !== undefined && { 'content-type': chance(0.95) ? 'application/json' : 'text/plain' }),
        ...(chance(0.1) && { 'idempotency-key': pick(['same', 'x'.repeat(300), 'with space', `k${random()}`]) }),
        ...(chance(0.1) && { 'if-match': pick(['*', '""', '"x", "y"', 'W/"x"']) }),
        ...(chance(0.1) && { 'if-none-match': pick(['*', '"x"']) }),
        ...(chance(0.1) && { 'last-event-id': pick(['-1', '0', '99999999', 'x', '1e5']) }),
      },
      body,
      isCut: body !== undefined && chance(0.02),
    }
  }
}

/** Lone surrogates have no encoding. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** A small random number generator with a seed. */
function mulberry(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
