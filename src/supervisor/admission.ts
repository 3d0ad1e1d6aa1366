/** Somebody in the line. */
interface Waiting {
  id: string
  max: number
  /** Told once, when nobody stands before it any more. */
  next: () => void
  toldNext: boolean
  enter: (leave: (() => void) | undefined) => void
}

export interface Entrant {
  id: string
  /** How many may run at once, in this one's eyes. */
  max: number
  /** It must wait. */
  waits: () => void
  /** It waits, and will be let in as soon as one leaves. */
  next: () => void
}

/** At most so many sessions run at once; the rest wait in the order they came. */
export class Admission {
  readonly #line: Waiting[] = []
  #inside = 0

  /** Resolves with the way out when there is a place, or with nothing when the entrant was withdrawn. */
  async enter({ id, max, waits, next }: Entrant): Promise<(() => void) | undefined> {
    if (this.#line.length === 0 && this.#inside < max) return this.#place()
    waits()
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>()
    this.#line.push({ id, max, next, toldNext: false, enter: resolve })
    this.#move()
    return promise
  }

  /** Takes one out of the line; nothing happens to one that is inside. */
  withdraw(id: string): void {
    const index = this.#line.findIndex(each => each.id === id)
    if (index < 0) return
    this.#line.splice(index, 1)[0]?.enter(undefined)
    this.#move()
  }

  #place(): () => void {
    this.#inside++
    let left = false
    return () => {
      if (left) return
      left = true
      this.#inside--
      this.#move()
    }
  }

  #move(): void {
    for (let head = this.#line[0]; head; head = this.#line[0]) {
      if (this.#inside >= head.max) {
        if (!head.toldNext) head.next()
        head.toldNext = true
        return
      }
      this.#line.shift()
      head.enter(this.#place())
    }
  }
}
