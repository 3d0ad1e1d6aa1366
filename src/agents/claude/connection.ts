import type { Query, SDKMessage, SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'

/** The prompts for one process. */
export type PromptStream = AsyncIterable<SDKUserMessage>

/**
 * The connection with one process of Claude Code. It outlives a session if the process is kept for the next one: a session reads messages
 * until it stops, and the next session goes on with the message after that.
 */
export class ClaudeConnection {
  readonly #start: (prompts: PromptStream) => Query | Promise<Query>
  readonly #prompts = new PromptQueue()
  #query: Query | undefined
  #messages: AsyncIterator<SDKMessage, void> | undefined
  #next: Promise<IteratorResult<SDKMessage, void>> | undefined
  #stop: (() => void) | undefined

  constructor(start: (prompts: PromptStream) => Query | Promise<Query>) {
    this.#start = start
  }

  /** Absent until `open` has resolved. */
  get query(): Query | undefined {
    return this.#query
  }

  /** Starts the process, once. A warm process may refuse the session; then another one is started. */
  async open(): Promise<Query> {
    this.#query ??= await this.#start(this.#prompts)
    this.#messages ??= this.#query[Symbol.asyncIterator]()
    return this.#query
  }

  /** Begins a turn. */
  send(text: string): void {
    this.#prompts.push(text)
  }

  /** Ends the agent's input: it exits when it has nothing more to do. */
  endInput(): void {
    this.#prompts.end()
  }

  /** The next message; undefined after the last one, or when `stop` is called meanwhile: the message then stays for the next reader. */
  read(): Promise<SDKMessage | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<SDKMessage | undefined>()
    let isStopped = false
    this.#stop = () => {
      isStopped = true
      resolve(undefined)
    }
    this.#next ??= this.#messages?.next()
    this.#next?.then(
      ({ value }) => {
        if (isStopped) return
        this.#next = undefined
        resolve(value ?? undefined)
      },
      error => {
        if (!isStopped) reject(error)
      },
    )
    if (!this.#next) resolve(undefined)
    return promise
  }

  /** Ends a `read` that waits. */
  stop(): void {
    this.#stop?.()
  }

  close(): void {
    this.#query?.close()
  }
}

/** The prompts for the agent, one message per turn. The process lives until this queue is ended. */
class PromptQueue implements PromptStream {
  readonly #waiting: string[] = []
  #over = false
  #wake: (() => void) | undefined

  push(text: string): void {
    this.#waiting.push(text)
    this.#wake?.()
  }

  end(): void {
    this.#over = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SDKUserMessage> {
    for (;;) {
      const content = this.#waiting.shift()
      if (content !== undefined) yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null }
      else if (this.#over) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }
}
