import { EVENT_SCHEMA_VERSION, type NewEvent, type StoredEvent } from '../../domain/event.ts'
import type { NewEventRow } from '../database/database.ts'
import type { EventRow } from '../tables.ts'

/** The row of an event that is about to be stored. */
export function toRow(event: NewEvent, now: number): NewEventRow {
  return {
    time: event.time ?? now,
    actor: event.actor,
    schema_version: EVENT_SCHEMA_VERSION,
    subject: event.subject,
    kind: event.kind,
    body: JSON.stringify(event.body),
  }
}

/** The stored event that an append gives back. */
export function stored(event: NewEvent, time: number, id: number): StoredEvent {
  return { ...event, id, time, schema_version: EVENT_SCHEMA_VERSION } as StoredEvent
}

/**
 * Reads a row back; nothing where the row cannot be read, so that one damaged row does not end a reader.
 *
 * Bodies are our own, so they are not checked again; a kind that a newer minor version wrote passes through.
 */
export function fromRow(row: EventRow): StoredEvent | undefined {
  try {
    const body: unknown = JSON.parse(row.body)
    if (typeof body !== 'object' || body === null || typeof row.kind !== 'string') return undefined
    return { ...row, body } as StoredEvent
  } catch {
    return undefined // not JSON: the row was damaged outside of the program
  }
}
