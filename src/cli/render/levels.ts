import type { StoredEvent } from '../../domain/event.ts'
import { isHookRefusal } from './lines/tool-lines.ts'

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

/** How much a person who reads logs wants to hear of an event. */
function levelOf(event: StoredEvent, refused: Set<string>): Level {
  switch (event.kind) {
    case 'agent.thought':
    case 'tool.requested':
    case 'usage.reported':
    case 'turn.ended':
    case 'agent.compacted':
      return 'debug'
    case 'tool.finished':
      // A refusal is told when it is decided, and is no error.
      if (event.body.ok || refused.has(event.body.call_id)) return 'debug'
      return isHookRefusal(event.body.output) ? 'warn' : 'error'
    case 'permission.decided':
      return event.body.verdict === 'deny' ? 'warn' : 'info'
    case 'permission.asked':
    case 'question.asked':
    case 'question.parked':
    case 'permission.parked':
    case 'session.noted':
    case 'agent.retried':
    case 'agent.changed':
    case 'limit.warned':
    case 'limit.hit':
    case 'budget.warned':
    case 'budget.spent':
    case 'guard.tripped':
    case 'task.blocked':
    case 'task.failed':
    case 'task.waiting':
      return 'warn'
    case 'session.ended':
      return event.body.status === 'error' ? 'error' : 'info'
    default:
      return 'info'
  }
}

/** Tells of each event, given in their order, whether it is at least as important as a level. */
export function levelFilter(level: Level): (event: StoredEvent) => boolean {
  const refused = new Set<string>()
  return event => {
    if (event.kind === 'permission.decided' && event.body.verdict === 'deny') refused.add(event.body.call_id)
    return LEVELS.indexOf(levelOf(event, refused)) >= LEVELS.indexOf(level)
  }
}
