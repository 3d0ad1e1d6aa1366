import type { Limit } from '../../../domain/account/limit.ts'
import { resetTime } from '../../limits/reset-time.ts'
import { type Assistant, apiErrorOf, msOf, type RateLimit, type Result } from './wire.ts'

type Info = RateLimit['rate_limit_info']

/** The machine that the agent runs on, as far as its messages depend on it. */
export interface Surroundings {
  now(): number
  /** `TZ` of the agent's environment. */
  tz?: string | undefined
}

/**
 * What the vendor's own records of one turn tell about a limit. Three kinds count: the rate limit event, the message that
 * Claude Code itself puts in the model's place, and the result. None of them can hold a word of the model, of a tool or of a
 * file: those come in blocks of content, which are never looked at here. A turn that did not fail met no limit, whatever
 * its records say.
 */
export class LimitRecords {
  readonly #surroundings: Surroundings
  #rejected: Info | undefined
  #message: { text: string; at: number } | undefined

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings
  }

  event({ rate_limit_info: info }: RateLimit): void {
    this.#rejected = info.status === 'rejected' ? info : undefined
  }

  assistant(message: Assistant): void {
    this.#message = undefined
    if (apiErrorOf(message) !== 'rate_limit') return
    const text = message.message.content.flatMap(block => (block.type === 'text' ? (block.text ?? '') : [])).join('\n')
    const at = Date.parse(message.timestamp ?? '')
    this.#message = { text, at: Number.isNaN(at) ? this.#surroundings.now() : at }
    const info = message.api_error_params?.rate_limit_info
    if (info?.status === 'rejected') this.#rejected ??= info
  }

  /** The limit that ended a turn, which is known to have failed by one. */
  limitOf(result: Result): Limit {
    const message = result.result || this.#message?.text || 'the vendor refused the request for now'
    const window = this.#rejected?.rateLimitType
    const rejected = { ...(window !== undefined && { window }), message }
    const resetsAt = this.#rejected?.resetsAt
    if (resetsAt !== undefined) return { ...rejected, resetsAt: msOf(resetsAt), source: 'event' }
    const told = this.#message && resetTime(this.#message.text, { now: this.#message.at, tz: this.#surroundings.tz })
    if (told !== undefined) return { ...rejected, resetsAt: told, source: 'message' }
    return { ...rejected, source: this.#rejected ? 'event' : 'result' }
  }

  forget(): void {
    this.#rejected = undefined
    this.#message = undefined
  }
}
