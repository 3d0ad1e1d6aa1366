import type { SessionEvent } from '../../domain/session.ts'

type Kind = 'text' | 'thinking'

/** A paragraph that grows longer than this is told in parts. */
const MAX_CHARS = 32_000
/** Somebody may be watching: what comes slowly is told on the way. */
const TELL_AFTER_MS = 5000

/** Puts together what arrives in pieces: one event for what the agent says in one go. */
export class Words {
  #kind: Kind | undefined
  #key = ''
  #text = ''
  #since = 0
  #by: { agentId?: string } = {}
  /** What it said last, whole: the answer of a turn. */
  #last = ''

  /** Takes a piece; what stood there of another kind or message is told first. */
  add(kind: Kind, text: string, { key, ...by }: { key: string; agentId?: string }): SessionEvent[] {
    const told = this.#kind !== kind || this.#key !== key ? this.flush() : []
    if (this.#text === '') this.#since = Date.now()
    if (told.length > 0 || this.#kind !== kind) this.#startAnew(kind)
    this.#kind = kind
    this.#key = key
    this.#by = by
    this.#text += text
    if (kind === 'text' && by.agentId === undefined) this.#last = (this.#last + text).slice(-MAX_CHARS)
    const isLong = this.#text.length > MAX_CHARS || Date.now() - this.#since > TELL_AFTER_MS
    return isLong ? [...told, ...this.flush({ isWhole: false })] : told
  }

  /** Tells what has come together. */
  flush({ isWhole = true }: { isWhole?: boolean } = {}): SessionEvent[] {
    const [kind, text] = [this.#kind, isWhole ? this.#text.trim() : this.#text]
    this.#text = ''
    if (isWhole) this.#kind = undefined
    if (!kind || text === '') return []
    return [{ kind, text: kind === 'thinking' ? withoutEmptyTitle(text) : text, ...this.#by }]
  }

  /** Nobody is told what has come together: it was not the model's. */
  drop(): string {
    const text = this.#text
    this.#text = ''
    this.#kind = undefined
    return text
  }

  /** The last thing that was said, and nothing is remembered of it any more. */
  takeLast(): string {
    const last = this.#last.trim()
    this.#last = ''
    return last
  }

  #startAnew(kind: Kind): void {
    if (kind === 'text') this.#last = ''
  }
}

/** Gemini CLI puts a title in front of every thought, also when there is none. */
function withoutEmptyTitle(text: string): string {
  return text.replace(/^\*{4}\n/, '')
}
