import type { SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'

/** What is said to the agent, one message a turn. The process lives as long as this is not ended. */
export class Prompts implements AsyncIterable<SDKUserMessage> {
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
