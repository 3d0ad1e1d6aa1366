/**
 * The second look: whatever came out of a tool call is held against what the gate has seen. A call that succeeded without
 * our yes, or failed without having been asked about, means that the agent no longer calls our hook.
 */
export class Tripwire {
  readonly #asked = new Set<string>()
  readonly #allowed = new Set<string>()
  readonly #names = new Map<string, string>()

  /** The gate was asked about this call. */
  judging(callId: string): void {
    this.#asked.add(callId)
  }

  /** The gate handed out its input. */
  allowed(callId: string): void {
    this.#allowed.add(callId)
  }

  /** Says which call ran unjudged, if this message tells of one. */
  read(message: unknown): string | undefined {
    for (const block of blocksOf(message)) {
      if (block['type'] === 'tool_use')
        this.#names.set(String(block['id']), `${block['name']} ${shown(block['input'])}`)
      if (block['type'] !== 'tool_result') continue
      const callId = String(block['tool_use_id'])
      if (this.#slipped(callId, block)) return this.#names.get(callId) ?? callId
      this.#names.delete(callId)
    }
    return undefined
  }

  #slipped(callId: string, { is_error, content }: Record<string, unknown>): boolean {
    if (is_error !== true) return !this.#allowed.has(callId)
    return !this.#asked.has(callId) && !REFUSED_UNASKED.some(form => form.test(textOf(content)))
  }
}

/** How Claude Code words what it did not run, or not now, without asking anybody. What tools print cannot look like the first form. */
const REFUSED_UNASKED = [
  // Unknown tools and wrong input.
  /^<tool_use_error>[\s\S]*<\/tool_use_error>$/,
  // Calls of a batch that an interrupt overtook. One that was stopped while it ran has another end.
  /^The user doesn't want to proceed with this tool use\. The tool use was rejected \([^)]*\)\. STOP what you are doing and wait for the user to tell you how to proceed\.$/,
  // A call of a process that died: its successor writes this down in the place of the result when it takes up the conversation.
  /^\[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown\.[^\n]*\]$/,
]

function* blocksOf(message: unknown): Generator<Record<string, unknown>> {
  const content = isObject(message) && isObject(message['message']) ? message['message']['content'] : undefined
  if (Array.isArray(content)) yield* content.filter(isObject)
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(part => (isObject(part) && part['type'] === 'text' ? String(part['text']) : '')).join('')
}

function shown(input: unknown): string {
  return (JSON.stringify(input) ?? '').slice(0, 200)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
