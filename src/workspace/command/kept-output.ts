/** What is kept of what a command printed: how it began, and more of how it ended, where mistakes are told. */
const HEAD_BYTES = 4_000
const TAIL_BYTES = 12_000

/** A tail is cut again only when it has grown by this, so that each byte is copied a few times at most. */
const SLACK_BYTES = 64_000

/** Takes what a command prints, however much, and holds a bounded part of it. */
export class KeptOutput {
  #head = Buffer.alloc(0)
  #tail: Buffer[] = []
  #tailBytes = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    const room = HEAD_BYTES - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)])
    const rest = room > 0 ? chunk.subarray(room) : chunk
    if (rest.length === 0) return
    this.#tail.push(Buffer.from(rest.length > TAIL_BYTES ? rest.subarray(-TAIL_BYTES) : rest))
    this.#tailBytes += this.#tail.at(-1)?.length ?? 0
    if (this.#tailBytes > TAIL_BYTES + SLACK_BYTES) this.#cut()
  }

  /** The beginning and the end, and how much is left out between them. */
  text(): string {
    this.#cut()
    const tail = Buffer.concat(this.#tail)
    const left = this.#bytes - this.#head.length - tail.length
    if (left === 0) return Buffer.concat([this.#head, tail]).toString('utf8')
    return `${this.#head.toString('utf8')}\n[… ${left} bytes left out …]\n${tail.toString('utf8')}`
  }

  #cut(): void {
    const all = Buffer.concat(this.#tail)
    this.#tail = [Buffer.from(all.subarray(Math.max(0, all.length - TAIL_BYTES)))]
    this.#tailBytes = this.#tail[0]?.length ?? 0
  }
}
