import { hash } from 'node:crypto'
import { AppError } from '../../base/errors.ts'
import { type Caller, mayReach } from '../../domain/access.ts'
import type { ApiRoute, RouteInput, RouteReply } from '../../domain/api-v1/route.ts'
import type { ApiRoutes, RouteName } from '../../domain/api-v1/routes.ts'
import type { Escalation } from '../../domain/escalation.ts'
import { realOrGiven } from '../routes/tasks.ts'

/** One request to a route, parsed and within the caller's reach. */
export type ApiCall<R extends ApiRoute> = RouteInput<R> & {
  caller: Caller
  /** The version that the client has read; its change is refused if there is a newer one. */
  ifMatch: string | undefined
  /** Throws if a yes to this must not be taken from this caller: its process cannot be identified. */
  refuseUnknownApproval(asked: Pick<Escalation, 'risk'>): Promise<void>
}

/** A reply that is JSON already, which is sent as it is. */
export class JsonText {
  readonly text: string
  #version: string | undefined

  constructor(text: string) {
    this.text = text
  }

  /** The version of the whole text. */
  get version(): string {
    this.#version ??= versionOfText(this.text)
    return this.#version
  }
}

export type Handler<R extends ApiRoute> = (call: ApiCall<R>) => Promise<RouteReply<R> | JsonText>

/** What answers each route of a table. */
export type Handlers<Names extends RouteName = RouteName> = { [Name in Names]: Handler<ApiRoutes[Name]> }

/** The version of a reply, as an `ETag`, without what only says how things stand at this moment. */
export function versionOf(json: string, versioned: ApiRoute['versioned']): string {
  return versioned === true ? versionOfText(json) : versionOfText(withoutMoments(json, versioned ?? []))
}

function versionOfText(json: string): string {
  return `"${hash('sha1', json, 'base64url')}"`
}

function withoutMoments(json: string, moments: readonly string[]): string {
  return JSON.stringify(JSON.parse(json, (key, value: unknown) => (moments.includes(key) ? undefined : value)))
}

/** Throws if the thing, as JSON, is not the version that the client has read. */
export function refuseChanged(
  what: string,
  json: string,
  ifMatch: string,
  versioned: ApiRoute['versioned'] = true,
): void {
  if (ifMatch === '*') return
  const version = versionOf(json, versioned)
  if (!ifMatch.split(',').some(known => known.trim() === version)) throw new AppError('changed_meanwhile', { what })
}

/**
 * Keeps a key that is for one project in it: the project is filled in where it was left out, and another one is refused. Whatever
 * the path names is checked by its handler (`reach.ts`). Returns a promise only if a path must be looked at.
 */
export function confine(
  { reach }: Pick<ApiRoute, 'reach'>,
  input: { query: unknown; body: unknown },
  caller: Caller,
): Promise<void> | undefined {
  if (reach === 'found') return undefined
  const only = caller.project
  if (reach === 'whole') {
    if (only !== null) throw new AppError('out_of_reach', { project: only })
    return undefined
  }
  const fields = input[reach] as { project?: string | undefined }
  const { project } = fields
  if (only === null) {
    if (reach === 'body' && project === undefined) throw new AppError('project_unnamed', {})
    return undefined
  }
  fields.project = only
  if (project === undefined) return undefined
  return realOrGiven(project).then(asked => {
    if (!mayReach(caller, asked)) throw new AppError('out_of_reach', { project: only })
  })
}

/** The project that `confine` made sure of. */
export function projectIn({ project }: { project?: string | undefined }): string {
  if (project === undefined) throw new AppError('project_unnamed', {})
  return project
}

interface Page<Item> {
  items: Item[]
  next: string | null
}

interface PageQuery {
  limit: number
  cursor?: string | undefined
}

/** A page of a list whose items each have a key that stays. The cursor is the key of the last item that was sent. */
export function pageOfList<Item>(items: readonly Item[], query: PageQuery, keyOf: (item: Item) => string): Page<Item> {
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor)
  const start = after === undefined ? 0 : items.findIndex(item => keyOf(item) === after) + 1
  if (after !== undefined && start === 0) throw badCursor()
  const page = items.slice(start, start + query.limit)
  const last = page.at(-1)
  const isLast = start + query.limit >= items.length || last === undefined
  return { items: page, next: isLast ? null : makeCursor(keyOf(last)) }
}

export function makeCursor(key: string): string {
  return Buffer.from(key).toString('base64url')
}

export function readCursor(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}

export function badCursor(): AppError {
  return new AppError('bad_request', { problem: 'cursor: it is of another list, or of something that is gone' })
}
