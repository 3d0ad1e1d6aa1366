/** A word to an agent in the middle of its turn, for those that have a way to hear it. */
export class Steering {
  /** Whether this agent hears it: it says so when it introduces itself. */
  isHeard = false
  readonly #send: (prompt: Record<string, unknown>) => Promise<unknown>

  constructor(send: (prompt: Record<string, unknown>) => Promise<unknown>) {
    this.#send = send
  }

  /** Whether it was heard. What was not is to be told otherwise, or not at all. */
  async say(text: string): Promise<boolean> {
    if (!this.isHeard) return false
    try {
      const prompt = [{ type: 'text', text }]
      const answer = await this.#send({ prompt, _meta: { steering: { idleBehavior: 'promptRequired' } } })
      return (answer as { outcome?: unknown }).outcome === 'injected'
    } catch {
      return false
    }
  }
}
