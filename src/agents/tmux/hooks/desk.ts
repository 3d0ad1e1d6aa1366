import { createHash, timingSafeEqual } from 'node:crypto'

/** What a hook of the agent may say back; nothing means that it has no opinion. */
export type HookReply = Record<string, unknown> | undefined

export interface HookCall {
  event: string
  input: unknown
  /** Aborted when the hook itself is gone. */
  signal: AbortSignal
}

export interface HookSeat {
  token: string
  take(call: HookCall): Promise<HookReply>
}

/** Who of the agents outside of this process may call, and who listens to each. The daemon's route and the driver meet here. */
export class HookDesk {
  readonly #seats = new Map<string, HookSeat>()

  open(session: string, seat: HookSeat): Disposable {
    this.#seats.set(session, seat)
    return {
      [Symbol.dispose]: () => {
        if (this.#seats.get(session) === seat) this.#seats.delete(session)
      },
    }
  }

  /** The one who listens; undefined for an unknown session and for a wrong token alike. */
  seatOf(session: string, token: string): HookSeat | undefined {
    const seat = this.#seats.get(session)
    return seat && timingSafeEqual(digest(seat.token), digest(token)) ? seat : undefined
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
