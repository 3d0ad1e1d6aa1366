import type { SessionEvent } from '../../../domain/session.ts'
import type { Item } from '../wire/schemas.ts'
import { type Named, namedItem } from './named-calls.ts'

/** Longer than anything a person reads; a log dumped by a tool must not be stored whole. */
const OUTPUT_CHARS = 20_000
/** Calls that are over are remembered for a while; one that makes up ids without end is not followed for ever. */
const MAX_CALLS = 2000
/** What Codex says, hears and does with nothing but its own conversation. Everything else is a call and needs a yes. */
const NO_CALLS = new Set([
  'userMessage',
  'hookPrompt',
  'agentMessage',
  'functionCallOutput',
  'plan',
  'reasoning',
  'contextCompaction',
  'enteredReviewMode',
  'exitedReviewMode',
  'sleep',
])

interface Known {
  item: Item | undefined
  told: boolean
  over: boolean
  allowed: boolean
  /** The model does not wait for it any more: it runs on beside the conversation, or waits for a person. */
  left: boolean
}

/** The calls of one session, by the id under which Codex tells and asks of each. */
export class Calls {
  readonly #calls = new Map<string, Known>()
  readonly #unfenced = new Set<string>()

  /** How many calls the model waits for now. */
  get running(): number {
    return [...this.#calls.values()].filter(one => one.told && !one.over && !one.left).length
  }

  add(item: Item): void {
    this.#known(item.id).item = item
  }

  item(callId: string): Item | undefined {
    return this.#calls.get(callId)?.item
  }

  /** A call of a server's tool that is about to be asked: the ask itself does not say which it is. */
  ofServer(server: string, fits: (item: Item) => boolean): Item | undefined {
    for (const { item, told, over } of this.#calls.values())
      if (item?.type === 'mcpToolCall' && item.server === server && !told && !over && fits(item)) return item
    return undefined
  }

  /** The request as an event, once for each call. */
  request(callId: string, { tool, input }: Named): SessionEvent[] {
    const known = this.#known(callId)
    if (known.told) return []
    known.told = true
    return [{ kind: 'tool_request', callId, tool, input }]
  }

  /** How a call ended, once. */
  result(callId: string, { ok, output }: { ok: boolean; output: string }): SessionEvent[] {
    const known = this.#known(callId)
    if (known.over) return []
    known.over = true
    known.item = undefined
    return [{ kind: 'tool_result', callId, ok, output: cap(output) }]
  }

  /** The end of a call as Codex tells it; one that was never asked is told as a request first. */
  ended(item: Item): SessionEvent[] {
    if (!isCall(item)) return []
    this.add(item)
    const ok = item.status === 'completed' && (item.exitCode ?? 0) === 0
    return [...this.request(item.id, namedItem(item)), ...this.result(item.id, { ok, output: outputOf(item) })]
  }

  allow(callId: string): void {
    this.#known(callId).allowed = true
  }

  /** It waits for a person, and not for the model. */
  park(callId: string): void {
    this.#known(callId).left = true
  }

  /** What ran without our yes, in words; undefined where all is well. */
  unjudged(item: Item): string | undefined {
    if (!isCall(item) || this.#calls.get(item.id)?.allowed || !hasRun(item)) return undefined
    const { tool, input } = namedItem(item)
    return `${tool} ${JSON.stringify(input).slice(0, 200)} (${item.id})`
  }

  /** The model wants it to run outside of the sandbox. */
  unfence(callId: string): void {
    this.#unfenced.add(callId)
  }

  isUnfenced(callId: string): boolean {
    return this.#unfenced.has(callId)
  }

  /** The model has its answers: what is not over by now runs on beside it. */
  roundOver(): void {
    for (const known of this.#calls.values()) if (known.told && !known.over) known.left = true
  }

  /** What was left running in a turn may end in a later one. */
  turnOver(): void {
    this.roundOver()
    this.#unfenced.clear()
  }

  #known(callId: string): Known {
    const found = this.#calls.get(callId)
    if (found) return found
    const made: Known = { item: undefined, told: false, over: false, allowed: false, left: false }
    this.#calls.set(callId, made)
    if (this.#calls.size > MAX_CALLS) this.#forgetOldest()
    return made
  }

  #forgetOldest(): void {
    for (const [id, { over }] of this.#calls) if (over) return void this.#calls.delete(id)
  }
}

function isCall({ type }: Item): boolean {
  return !NO_CALLS.has(type)
}

/** Refused, never begun and wrong from the start leave nothing behind; a command that failed has run all the same. */
function hasRun({ type, status, exitCode, server, result }: Item): boolean {
  if (type === 'commandExecution')
    return status !== 'declined' && (status === 'completed' || typeof exitCode === 'number')
  // Done by us, when it was allowed.
  if (type === 'dynamicToolCall') return false
  // Codex's own list of the resources of its servers; none is given any.
  if (type === 'mcpToolCall' && server === 'codex') return false
  if (type === 'mcpToolCall') return status === 'completed' || Boolean(result)
  return status === 'completed' || status === undefined || status === null
}

function outputOf({ aggregatedOutput, changes, result, error, contentItems }: Item): string {
  if (aggregatedOutput) return aggregatedOutput
  if (error) return error.message
  if (changes) return changes.map(({ path }) => `[changed ${path}]`).join('\n')
  if (contentItems) return contentItems.map(({ text }) => text ?? '').join('\n')
  return result ? JSON.stringify(result) : ''
}

function cap(text: string): string {
  if (text.length <= OUTPUT_CHARS) return text
  return `${text.slice(0, OUTPUT_CHARS)}\n… (${text.length - OUTPUT_CHARS} more characters)`
}
