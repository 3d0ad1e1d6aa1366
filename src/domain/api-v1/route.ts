import * as z from 'zod'
import type { Scope } from '../access.ts'

/**
 * One route of the API, declared once: the server, the OpenAPI document, the page of documentation and the types of the client all
 * follow from it.
 */
export interface ApiRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** After `/api/v1`, with `{name}` for a parameter. */
  path: string
  /** The heading under which it is documented. */
  noun: string
  scope: Scope
  summary: string
  /** How a key that is for one project is kept in it. */
  reach: Reach
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  reply: z.ZodType
  /** 200 by default. */
  status?: 200 | 201
  /** Whether it makes something new, so that a repeated request with the same `Idempotency-Key` gets the first reply. Every POST says it. */
  creates?: boolean
  /** The reply has an `ETag`; with a list, one that these fields do not change, which only say how things stand at this moment. */
  versioned?: true | readonly string[]
  /** The route that reads what this one changes: `If-Match` takes its `ETag`. */
  guardedBy?: string
  /** A POST that changes nothing: it is not in the audit log, and processes of agents are refused all the same. */
  readOnly?: true
  /** The largest body in bytes; a million by default. */
  maxBytes?: number
}

/**
 * `query`, `body`: the field `project` there, which such a key may leave out and may not set to another project. `found`: the thing
 * that the path names; one of another project is not found. `whole`: it is about everything, so such a key is refused.
 */
export type Reach = 'query' | 'body' | 'found' | 'whole'

/** Room for a text of a million characters, of which JSON escapes some with six. */
export const LONG_TEXT_BYTES = 8_000_000

/** Where all paths begin. */
export const API_PATH = '/api/v1'

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined
type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined

/** What the handler of a route gets. */
export interface RouteInput<R extends ApiRoute> {
  params: Parsed<R['params']>
  query: Parsed<R['query']>
  body: Parsed<R['body']>
}
export type RouteReply<R extends ApiRoute> = z.infer<R['reply']>

/** What a client sends. A part that the route does not have is left out. */
export type RouteRequest<R extends ApiRoute> = Fields<'params', R['params']> &
  Fields<'query', R['query']> &
  Fields<'body', R['body']> & { idempotencyKey?: string; ifMatch?: string }
type Fields<Name extends string, Schema> = Schema extends z.ZodType
  ? object extends Given<Schema>
    ? { [Key in Name]?: Given<Schema> }
    : { [Key in Name]: Given<Schema> }
  : { [Key in Name]?: never }

/** The path of a project, as the daemon's machine names it. */
export const Project = z.string().min(1).max(4_096)

/** An id of a thing, or a beginning of it that is unique. */
export const Ref = z.string().min(1).max(200)

/** How a list is read piece by piece. */
export const Paging = {
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  /** `next` of the page before. */
  cursor: z.string().min(1).max(200).optional(),
}

/** A page of a list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    /** The cursor of the next page; null if this is the last one. */
    next: z.string().nullable(),
  })
}

/** The error of any route, as `application/problem+json` (RFC 9457). `code` never changes; docs/errors.md lists all. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string(),
  /** What to do about it. */
  next: z.string(),
})
export type Problem = z.infer<typeof Problem>
