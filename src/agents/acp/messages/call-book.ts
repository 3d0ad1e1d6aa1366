import type { ToolNaming } from '../../../domain/agents/manifest.ts'
import type { SessionEvent } from '../../../domain/session.ts'
import { type AgentToolName, calledAs } from '../../../domain/tools/agent-tools.ts'
import type { OwnTools } from '../../own-tools/own-tools.ts'
import type { Content, ToolCall } from '../wire/schemas.ts'
import { inputOf, type Named, namedCalls, nameOf } from './request-of.ts'

/** Longer than anything a person reads; a log dumped by a tool must not be stored whole. */
const OUTPUT_CHARS = 20_000
/** Calls are remembered until the end of their turn; an agent that makes up ids without end is not followed for ever. */
const MAX_CALLS = 2000

interface Known {
  call: ToolCall
  /** Told as a request. */
  told: boolean
  /** Its end was told. */
  over: boolean
  /** We said yes. */
  allowed: boolean
  /** The agent itself says that it is over: done, failed, or refused and put aside. */
  settled: boolean
}

/** The calls of one session: agents tell of each in pieces, and in an order of their own. */
export class CallBook {
  readonly #naming: ToolNaming
  readonly #own: OwnTools | undefined
  readonly #calls = new Map<string, Known>()
  /** Calls that started a subagent which has called something since. */
  readonly #parents = new Set<string>()

  constructor(naming: ToolNaming, own?: OwnTools) {
    this.#naming = naming
    this.#own = own
  }

  /** How many calls run now. One that only waits for its subagent does nothing itself. */
  get running(): number {
    return [...this.#calls].filter(([id, one]) => one.told && !one.over && !this.#parents.has(id)).length
  }

  /** How many calls the agent has announced and not yet put aside. */
  get open(): number {
    return [...this.#calls.values()].filter(one => !one.settled).length
  }

  /** What is known of a call after this piece. Fields that are not in it stay as they were. */
  add(piece: ToolCall): ToolCall {
    const known = this.#known(piece.toolCallId)
    const { rawInput, ...rest } = piece
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value)))
    known.call = { ...known.call, ...given }
    if (piece.status === 'completed' || piece.status === 'failed') known.settled = true
    if (!isEmpty(rawInput)) known.call.rawInput = merged(known.call.rawInput, rawInput)
    return known.call
  }

  /** A call that the agent has told of. */
  announced(callId: string): ToolCall | undefined {
    return this.#calls.get(callId)?.call
  }

  /** The same in our own words. */
  named(call: ToolCall): Named[] {
    const own = this.own(call)
    if (own) return [{ tool: calledAs(own), input: inputOf(call) }]
    return namedCalls(call, this.#naming)
  }

  /** Which tool of ours it calls. No other tool of the agent's is of this kind and bears such a name. */
  own(call: ToolCall): AgentToolName | undefined {
    return call.kind === 'other' ? this.#own?.toolOf(nameOf(call, this.#naming)) : undefined
  }

  /** The request as an event, once for each call. */
  request(call: ToolCall, by: { agentId?: string }): SessionEvent[] {
    const known = this.#known(call.toolCallId)
    if (known.told) return []
    known.told = true
    if (by.agentId !== undefined) this.#parents.add(by.agentId)
    const [first] = this.named(call)
    if (!first) return []
    return [{ kind: 'tool_request', callId: call.toolCallId, tool: first.tool, input: first.input, ...by }]
  }

  allow(callId: string): void {
    this.#known(callId).allowed = true
  }

  isAllowed(callId: string): boolean {
    return this.#calls.get(callId)?.allowed ?? false
  }

  /** How a call ended, once. */
  result(call: ToolCall, { ok, output, ...by }: { ok: boolean; output?: string; agentId?: string }): SessionEvent[] {
    const known = this.#known(call.toolCallId)
    if (known.over) return []
    known.over = true
    return [{ kind: 'tool_result', callId: call.toolCallId, ok, output: cap(output ?? outputOf(call)), ...by }]
  }

  /** Nothing of a turn that ended is asked about any more. */
  forget(): void {
    this.#calls.clear()
    this.#parents.clear()
  }

  #known(callId: string): Known {
    const found = this.#calls.get(callId)
    if (found) return found
    const made = { call: { toolCallId: callId } as ToolCall, told: false, over: false, allowed: false, settled: false }
    this.#calls.set(callId, made)
    if (this.#calls.size > MAX_CALLS) this.#calls.delete(this.#calls.keys().next().value ?? '')
    return made
  }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** What a permission request says of the input may be less than what was told before; both are the agent's. */
function merged(before: unknown, now: unknown): unknown {
  return isObject(before) && isObject(now) ? { ...before, ...now } : now
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function outputOf({ rawOutput, content }: ToolCall): string {
  if (typeof rawOutput === 'string') return rawOutput
  const shown = (content ?? []).map(shownAs).filter(Boolean).join('\n')
  if (shown) return shown
  return isEmpty(rawOutput) ? '' : JSON.stringify(rawOutput)
}

function shownAs(part: Content): string {
  if (part.type === 'content') return part.content?.text ?? `[${part.content?.type ?? 'content'}]`
  return part.type === 'diff' ? `[changed ${part.path ?? 'a file'}]` : `[${part.type}]`
}

function cap(text: string): string {
  if (text.length <= OUTPUT_CHARS) return text
  return `${text.slice(0, OUTPUT_CHARS)}\n… (${text.length - OUTPUT_CHARS} more characters)`
}
