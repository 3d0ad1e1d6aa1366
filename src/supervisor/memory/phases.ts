import type { EventKind } from '../../domain/event.ts'

/** What memory does, in this order: it keeps what happened, derives items from it, shows them, and learns what showing them was worth. */
type Phase = 'record' | 'organise' | 'recall' | 'improve'

/** What memory does at events of the daemon. At all other kinds it does nothing. */
const EVENT_PHASES: Partial<Record<EventKind, readonly Phase[]>> = {
  'task.started': ['record', 'recall'],
  'tool.finished': ['record'],
  'permission.decided': ['record'],
  'escalation.answered': ['record'],
  'hook.captured': ['record'],
  'task.finished': ['record', 'organise', 'improve'],
  'task.failed': ['record', 'organise', 'improve'],
  'session.ended': ['organise', 'improve'],
}

/** The kinds of events from which records are made. */
export const RECORDED = (Object.keys(EVENT_PHASES) as EventKind[]).filter(kind =>
  EVENT_PHASES[kind]?.includes('record'),
)
