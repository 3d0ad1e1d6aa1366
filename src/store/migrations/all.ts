import { eventsAndSessions } from './0001-events-and-sessions.ts'
import { escalationsAndAnswers } from './0002-escalations-and-answers.ts'
import type { Migration } from './migration.ts'

/** In order: the first is number 1. New ones go to the end. */
export const MIGRATIONS: readonly Migration[] = [eventsAndSessions, escalationsAndAnswers]
