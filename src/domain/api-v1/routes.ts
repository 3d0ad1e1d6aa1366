import * as z from 'zod'
import { OVERVIEW_ROUTES } from './overview-routes.ts'
import { type ApiRoute, Project, Ref } from './route.ts'
import { EventView, TASK_ROUTES } from './task-routes.ts'
import { WORK_ROUTES } from './work-routes.ts'

/** The stream of events. Its reply is not one document, so it is no `ApiRoute` that a handler answers. */
export const EVENT_STREAM = {
  method: 'GET',
  path: '/events',
  noun: 'Events',
  scope: 'read',
  summary:
    'Follow events as they are stored (server-sent events). A client that reconnects with `Last-Event-ID` gets what it missed; without it, and without `after`, the stream begins now. A client that reads too slowly is disconnected and may resume.',
  reach: 'query',
  query: z.strictObject({
    project: Project.optional(),
    /** The session, task, run or other thing that events are about. */
    subject: Ref.optional(),
    /** Kinds with commas between them; `task.*` means all that begin so. */
    kind: z.string().min(1).max(2_000).optional(),
    /** Also the stored events above this id. */
    after: z.coerce.number().int().min(0).optional(),
  }),
  reply: EventView,
} as const satisfies ApiRoute

/** Every route of version 1 that answers with one document. */
export const API_ROUTES = { ...TASK_ROUTES, ...WORK_ROUTES, ...OVERVIEW_ROUTES } as const
export type ApiRoutes = typeof API_ROUTES
export type RouteName = keyof ApiRoutes
