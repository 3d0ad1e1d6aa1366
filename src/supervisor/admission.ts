/** Somebody in the line. */
interface Waiting extends Entrant {
  toldNext: boolean
  admit: (leave: (() => void) | undefined) => void
}

/** What somebody waits for. */
export type Lack = 'place' | 'allowance' | 'turn'

export interface Entrant {
  id: string
  /** How many may run at once, in this one's eyes. */
  max: number
  /** Higher comes first. */
  priority?: number | undefined
  /** Who shares an allowance with it. */
  account?: string | null | undefined
  /** How many of the same account may run, as its allowance stands now. */
  allowed?: (() => number) | undefined
  /** Those of one place of work go in one at a time. One that is over, and only has to leave, is in nobody's way. */
  turn?: { of: string; isOver: () => boolean } | undefined
  /** It must wait: for a place, for its account's allowance, or for its turn. */
  waits: (what: Lack) => void
  /** It waits for a place, and will be let in as soon as one leaves. */
  next: () => void
}

/** An allowance grows fresh by the clock alone, which nobody tells of. */
const LOOK_AGAIN_MS = 15_000

/** At most so many sessions run at once; the rest wait by priority and then in the order they came. */
export class Admission {
  readonly #line: Waiting[] = []
  readonly #byAccount = new Map<string, number>()
  readonly #turns = new Map<string, NonNullable<Entrant['turn']>>()
  #inside = 0
  #timer: NodeJS.Timeout | undefined

  /** How many stand in the line. */
  get waiting(): number {
    return this.#line.length
  }

  /** Resolves with the way out when there is a place, or with nothing when the entrant was withdrawn. */
  async enter(entrant: Entrant): Promise<(() => void) | undefined> {
    const lacking = this.#lacks(entrant)
    if (lacking === undefined && !this.#line.some(other => comesBefore(other, entrant) && !this.#isHeldBack(other))) {
      return this.#place(entrant)
    }
    entrant.waits(lacking ?? 'place')
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>()
    const waiting = { ...entrant, toldNext: false, admit: resolve }
    const behind = this.#line.findIndex(other => !comesBefore(other, entrant))
    this.#line.splice(behind < 0 ? this.#line.length : behind, 0, waiting)
    this.look()
    return promise
  }

  /** Takes one out of the line; nothing happens to one that is inside. True where it stood there. */
  withdraw(id: string): boolean {
    const index = this.#line.findIndex(each => each.id === id)
    if (index < 0) return false
    this.#line.splice(index, 1)[0]?.admit(undefined)
    this.look()
    return true
  }

  /** Lets in whoever can enter now. One that lacks something else than a place holds up nobody. */
  look(): void {
    clearTimeout(this.#timer)
    for (const waiting of [...this.#line]) {
      const lacking = this.#lacks(waiting)
      if (lacking === 'allowance' || lacking === 'turn') continue
      if (lacking === 'place') {
        if (!waiting.toldNext) waiting.next()
        waiting.toldNext = true
        break
      }
      this.#line.splice(this.#line.indexOf(waiting), 1)
      waiting.admit(this.#place(waiting))
    }
    if (this.#line.length > 0) this.#timer = setTimeout(() => this.look(), LOOK_AGAIN_MS).unref()
  }

  #lacks(entrant: Entrant): Lack | undefined {
    if (this.#lacksTurn(entrant)) return 'turn'
    if (this.#inside >= entrant.max) return 'place'
    return this.#lacksAllowance(entrant) ? 'allowance' : undefined
  }

  #isHeldBack(entrant: Entrant): boolean {
    return this.#lacksTurn(entrant) || this.#lacksAllowance(entrant)
  }

  #lacksTurn({ turn }: Entrant): boolean {
    return turn !== undefined && this.#turns.get(turn.of)?.isOver() === false
  }

  #lacksAllowance({ account, allowed }: Entrant): boolean {
    if (account == null || !allowed) return false
    return (this.#byAccount.get(account) ?? 0) >= allowed()
  }

  #place({ account, turn }: Entrant): () => void {
    this.#count(account, 1)
    if (turn) this.#turns.set(turn.of, turn)
    let left = false
    return () => {
      if (left) return
      left = true
      this.#count(account, -1)
      if (turn && this.#turns.get(turn.of) === turn) this.#turns.delete(turn.of)
      this.look()
    }
  }

  #count(account: string | null | undefined, by: 1 | -1): void {
    this.#inside += by
    if (account == null) return
    const count = (this.#byAccount.get(account) ?? 0) + by
    if (count > 0) this.#byAccount.set(account, count)
    else this.#byAccount.delete(account)
  }
}

/** Whether one that stands in the line stays before one that comes now. */
function comesBefore(standing: Entrant, coming: Entrant): boolean {
  return (standing.priority ?? 0) >= (coming.priority ?? 0)
}
