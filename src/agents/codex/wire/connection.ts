import type { GuardedChild } from '../../../base/process/guardian.ts'
import { linesOf } from '../../wire/lines.ts'
import { Refusal } from './refusal.ts'
import { Resolved, RpcError } from './schemas.ts'

/** After so many lines in a row that are no messages nobody expects one any more. */
const MAX_GARBAGE = 1000

export interface Listening {
  /** Every message as it came. */
  seen(message: Record<string, unknown>): void
  /** What Codex tells of its own accord, in order and before anything that comes after it. */
  told(method: string, params: unknown): void
  /** What Codex asks. The signal aborts when it does not wait for the answer any more. */
  asked(method: string, params: unknown, signal: AbortSignal): Promise<unknown>
  garbage(line: string, count: number): void
  /** Nothing more is read, and why. */
  gaveUp(reason: string): void
  /** Resolves when another message may be taken. */
  room(): Promise<void>
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** `codex app-server` over its pipes: JSON-RPC, one message a line, read in order and no faster than it is taken. */
export class CodexConnection {
  readonly closed: Promise<void>
  readonly #stdin: GuardedChild['stdin']
  readonly #listening: Listening
  readonly #waiting = new Map<number, Waiting>()
  readonly #asks = new Map<string | number, AbortController>()
  readonly #over = new AbortController()
  #sent = 0

  constructor({ stdin, stdout }: Pick<GuardedChild, 'stdin' | 'stdout'>, listening: Listening) {
    this.#stdin = stdin
    this.#listening = listening
    const { promise: hungUp, resolve } = Promise.withResolvers<void>()
    this.#over.signal.addEventListener('abort', () => resolve(), { once: true })
    this.closed = Promise.race([this.#read(stdout), hungUp]).then(() => this.close())
  }

  /** Asks Codex for something. Rejects when it says no, when it is gone, and on abort. */
  async request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const id = ++this.#sent
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const stop = () => reject(new Error('it was called off'))
    const given = AbortSignal.any([signal, this.#over.signal])
    this.#waiting.set(id, { resolve, reject })
    given.addEventListener('abort', stop, { once: true })
    if (given.aborted) stop()
    else this.#send({ id, method, params })
    try {
      return await promise
    } finally {
      this.#waiting.delete(id)
      given.removeEventListener('abort', stop)
    }
  }

  notify(method: string): void {
    this.#send({ method })
  }

  close(): void {
    this.#over.abort()
    for (const ask of this.#asks.values()) ask.abort()
    if (this.#stdin.writable) this.#stdin.end()
  }

  async #read(stdout: AsyncIterable<Buffer>): Promise<void> {
    let garbage = 0
    let inRow = 0
    try {
      for await (const line of linesOf(stdout)) {
        if (this.#over.signal.aborted) return
        if ('message' in line) {
          inRow = 0
          this.#listening.seen(line.message)
          await this.#take(line.message)
          continue
        }
        this.#listening.garbage(line.garbage, ++garbage)
        if (++inRow < MAX_GARBAGE) continue
        return this.#listening.gaveUp(`wrote ${MAX_GARBAGE} lines in a row that are no messages`)
      }
    } catch {
      // A broken pipe is an end like any other.
    }
  }

  async #take(message: Record<string, unknown>): Promise<void> {
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#settle(message)
    if (typeof id === 'string' || typeof id === 'number') return void this.#answer(id, method, params)
    if (method === 'serverRequest/resolved') {
      const resolved = Resolved.safeParse(params).data
      return resolved && this.#asks.get(resolved.requestId)?.abort()
    }
    await this.#listening.room()
    this.#listening.told(method, params)
  }

  #settle({ id, result, error }: Record<string, unknown>): void {
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined
    if (!waiting) return
    if (error === undefined) waiting.resolve(result)
    else waiting.reject(RpcError.safeParse(error).data ?? { code: 0, message: 'it answered with an error' })
  }

  async #answer(id: string | number, method: string, params: unknown): Promise<void> {
    const ask = new AbortController()
    this.#asks.set(id, ask)
    try {
      const result = await this.#listening.asked(method, params, ask.signal)
      this.#send({ id, result })
    } catch (error) {
      const { code, message } = error instanceof Refusal ? error : new Refusal('it could not be answered')
      this.#send({ id, error: { code, message } })
    } finally {
      this.#asks.delete(id)
    }
  }

  /** One that is gone cannot be told, and that it is gone is seen elsewhere. */
  #send(message: object): void {
    if (this.#stdin.writable) this.#stdin.write(`${JSON.stringify(message)}\n`)
  }
}
