import type { StoredEvent } from '../../domain/event.ts'

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

/** How much a person who reads logs wants to hear of an event. */
function levelOf(event: StoredEvent): Level {
  switch (event.kind) {
    case 'agent.thought':
    case 'tool.requested':
    case 'usage.reported':
    case 'agent.compacted':
      return 'debug'
    case 'tool.finished':
      return event.body.ok ? 'debug' : 'error'
    case 'permission.decided':
      return event.body.verdict === 'deny' ? 'warn' : 'info'
    case 'permission.asked':
    case 'question.asked':
    case 'question.parked':
    case 'session.noted':
    case 'agent.retried':
    case 'limit.warned':
    case 'limit.hit':
      return 'warn'
    case 'turn.ended':
      return event.body.outcome === 'failed' ? 'error' : 'debug'
    case 'session.ended':
      return event.body.status === 'error' ? 'error' : 'info'
    default:
      return 'info'
  }
}

/** Whether an event is at least as important as a level. */
export function isAtLeast(event: StoredEvent, level: Level): boolean {
  return LEVELS.indexOf(levelOf(event)) >= LEVELS.indexOf(level)
}
