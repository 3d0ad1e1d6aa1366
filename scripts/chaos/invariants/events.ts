import type { EventKind, EventOf } from '../../../src/domain/event.ts'
import type { History } from '../history.ts'

/** The events of one kind, in order. */
export function bodiesOf<Kind extends EventKind>({ events }: History, kind: Kind): EventOf<Kind>[] {
  return events.filter(event => event.kind === kind) as unknown as EventOf<Kind>[]
}
