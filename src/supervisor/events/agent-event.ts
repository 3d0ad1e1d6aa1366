import type { EventBody, EventKind, NewEvent } from '../../domain/event.ts'
import type { Run } from '../run.ts'

/** An event of this session, caused by its agent unless said otherwise. */
export function eventOf<Kind extends EventKind>(
  run: Run,
  kind: Kind,
  body: EventBody<Kind>,
  actor = 'agent',
): NewEvent {
  return { actor, subject: run.id, kind, body } as NewEvent
}

/** `agent_id` where a subagent did it. */
export function byAgent(event: { agentId?: string | undefined }): { agent_id?: string } {
  return event.agentId === undefined ? {} : { agent_id: event.agentId }
}
