import { eventsAndSessions } from './0001-events-and-sessions.ts'
import type { Migration } from './migration.ts'

/** In order: the first is number 1. New ones go to the end. */
export const MIGRATIONS: readonly Migration[] = [eventsAndSessions]
