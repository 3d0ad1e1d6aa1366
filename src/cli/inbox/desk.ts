import { messageOf } from '../../base/errors.ts'
import type { EscalationView } from '../../domain/escalation.ts'
import type { Reply } from '../live/person.ts'
import { RemoteError } from '../report.ts'
import { answered, EMPTY_INBOX, type Inbox, refused, type Waiting, withRows } from './inbox.ts'
import { type Press, press, type Sight } from './press.ts'

export interface DeskParts {
  /** Delivers an answer and says in a line what became of it. */
  send(row: EscalationView, reply: Reply): Promise<string>
  leave(): void
}

/** The inbox as it is, and everything that changes it. It stands outside of what draws it, so that no key meets an old state. */
export interface Desk {
  inbox(): Inbox
  onChange(listener: () => void): () => void
  press(key: Press, sight: Sight): void
  show(now: Waiting): void
  /** The daemon does not answer. */
  lost(problem: string): void
  /** From now on keys answer what is in sight. */
  arm(): void
}

/** A desk with nothing on it yet. */
export function openDesk({ send, leave }: DeskParts): Desk {
  let inbox = EMPTY_INBOX
  const listeners = new Set<() => void>()
  const set = (next: Inbox) => {
    if (next === inbox) return
    inbox = next
    for (const listener of listeners) listener()
  }
  const deliver = async (row: EscalationView, reply: Reply) => {
    const close = (notice: string) => set(answered(inbox, row.number, { notice, at: Date.now() }))
    try {
      close(await send(row, reply))
    } catch (error) {
      if (error instanceof RemoteError && LATE.has(error.code)) close(messageOf(error))
      else set(refused(inbox, messageOf(error)))
    }
  }
  return {
    inbox: () => inbox,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(key, sight) {
      const pressed = press(inbox, key, sight)
      set(pressed.inbox)
      if (pressed.leave) leave()
      if (pressed.send) void deliver(pressed.send.row, pressed.send.reply)
    },
    show: now => set(withRows(inbox, now)),
    lost: problem => set({ ...inbox, offline: `${problem}; trying again` }),
    arm: () => set({ ...inbox, armed: true }),
  }
}

/** Of two people who answer at once one is late: it is told, and there is nothing left to decide. */
const LATE: ReadonlySet<string> = new Set(['escalation_answered', 'escalation_withdrawn', 'escalation_unknown'])
