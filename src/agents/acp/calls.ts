import type { ToolNaming } from '../../domain/agent-manifest.ts'
import { type AgentToolName, toolCallName } from '../../domain/agent-tools.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { OwnTools } from '../own-tools.ts'
import { type AcpNamedCall, type EndedCall, nameCalls, readInput, readToolName } from './tool-names.ts'
import type { AcpToolCall, Content } from './wire.ts'

/** Longer than anything a person reads; a log dumped by a tool must not be stored whole. */
const OUTPUT_CHARS = 20_000
/** Calls are remembered until the end of their turn; an agent that makes up ids without end is not followed for ever. */
const MAX_CALLS = 2000

/** What is kept of one call while it is open: more is never sent by one that makes sense. */
const MAX_CALL_CHARS = 4_000_000
/** And of all open ones together. */
const MAX_TOTAL_CHARS = 64_000_000
/** What can be large in a call. */
const LARGE = ['rawInput', 'content', 'rawOutput'] as const

interface KnownCall {
  call: AcpToolCall
  /** What its large parts take. */
  chars: number
  /** Some of it was dropped: nobody can judge it any more. */
  tooLarge: boolean
  /** We were asked about it. */
  asked: boolean
  /** It may fail unasked: a refusal beside it or a stop of ours came before. */
  fallen: boolean
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
export class AcpCalls {
  readonly #naming: ToolNaming
  readonly #own: OwnTools | undefined
  readonly #calls = new Map<string, KnownCall>()
  /** Calls that started a subagent which has called something since. */
  readonly #parents = new Set<string>()
  #chars = 0

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

  /** What is known of a call after this piece. Fields that are not in it stay as they were; of one that is over nothing is kept. */
  add(piece: AcpToolCall): AcpToolCall {
    // The id of a call that is over may be used again, but not its yes.
    if (piece['sessionUpdate'] === 'tool_call') this.#anew(piece.toolCallId)
    const known = this.#known(piece.toolCallId)
    if (known.settled) return known.call
    const { rawInput, ...rest } = piece
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value)))
    known.call = { ...known.call, ...given }
    if (!isEmpty(rawInput)) known.call.rawInput = merged(known.call.rawInput, rawInput)
    this.#weigh(known, piece)
    return known.call
  }

  /** A call that we are asked about. */
  ask(piece: AcpToolCall): AcpToolCall {
    this.#anew(piece.toolCallId)
    const call = this.add(piece)
    this.#known(piece.toolCallId).asked = true
    return call
  }

  isTooLarge(callId: string): boolean {
    return this.#calls.get(callId)?.tooLarge ?? false
  }

  /** The agent tells the end of a call; undefined where it has told it before. */
  settle(call: AcpToolCall, { ok }: { ok: boolean }): EndedCall | undefined {
    const known = this.#known(call.toolCallId)
    if (known.settled) return undefined
    known.settled = true
    const { asked, allowed, fallen } = known
    known.allowed = false
    const [kind, title] = [call.kind ?? undefined, call.title ?? undefined]
    return { kind, title, named: this.named(call), ok, output: outputOf(call), asked, allowed, fallen }
  }

  /** What a call printed though it was never asked about: it runs, whatever its status says. */
  printsUnasked({ toolCallId, rawOutput }: AcpToolCall): boolean {
    const known = this.#known(toolCallId)
    return !known.asked && !known.settled && !isEmpty(rawOutput)
  }

  /** A refusal or a stop takes down what was not asked about yet. */
  fall(): void {
    for (const known of this.#calls.values()) if (!known.settled && !known.asked) known.fallen = true
  }

  /** A call that the agent has told of. */
  announced(callId: string): AcpToolCall | undefined {
    return this.#calls.get(callId)?.call
  }

  /** The same in our own words. */
  named(call: AcpToolCall): AcpNamedCall[] {
    const own = this.own(call)
    if (own) return [{ tool: toolCallName(own), input: readInput(call) }]
    return nameCalls(call, this.#naming)
  }

  /** Which tool of ours it calls. No other tool of the agent's is of this kind and bears such a name. */
  own(call: AcpToolCall): AgentToolName | undefined {
    return call.kind === 'other' ? this.#own?.toolOf(readToolName(call, this.#naming)) : undefined
  }

  /** The request as an event, once for each call. */
  request(call: AcpToolCall, by: { agentId?: string }): SessionEvent[] {
    const known = this.#known(call.toolCallId)
    if (known.told) return []
    known.told = true
    if (by.agentId !== undefined) this.#parents.add(by.agentId)
    const [first] = this.named(call)
    if (!first) return []
    return [{ kind: 'tool_request', callId: call.toolCallId, tool: first.tool, input: first.input, ...by }]
  }

  allow(callId: string): void {
    const known = this.#known(callId)
    known.asked = true
    known.allowed = true
  }

  /** How a call ended, once. */
  result(call: AcpToolCall, { ok, output, ...by }: { ok: boolean; output?: string; agentId?: string }): SessionEvent[] {
    const known = this.#known(call.toolCallId)
    if (known.over) return []
    known.over = true
    const told = cap(output ?? outputOf(call))
    this.#drop(known)
    return [{ kind: 'tool_result', callId: call.toolCallId, ok, output: told, ...by }]
  }

  /** Nothing of a turn that ended is asked about any more. */
  forget(): void {
    this.#calls.clear()
    this.#chars = 0
    this.#parents.clear()
  }

  #known(callId: string): KnownCall {
    const found = this.#calls.get(callId)
    if (found) return found
    const made: KnownCall = {
      ...{ call: { toolCallId: callId }, chars: 0, tooLarge: false },
      ...{ told: false, over: false, asked: false, allowed: false, fallen: false, settled: false },
    }
    this.#calls.set(callId, made)
    if (this.#calls.size > MAX_CALLS) this.#forgetOldest()
    return made
  }

  /** One that is over first: one that is open has a yes to be held against its end. */
  #forgetOldest(): void {
    for (const [id, { settled }] of this.#calls) if (settled) return void this.#calls.delete(id)
    const [[id, known] = []] = this.#calls
    if (known) this.#drop(known)
    this.#calls.delete(id ?? '')
  }

  #anew(callId: string): void {
    if (this.#calls.get(callId)?.settled) this.#calls.delete(callId)
  }

  #weigh(known: KnownCall, piece: AcpToolCall): void {
    const more = LARGE.reduce((sum, field) => sum + (JSON.stringify(piece[field])?.length ?? 0), 0)
    known.chars += more
    this.#chars += more
    if (known.chars <= MAX_CALL_CHARS && this.#chars <= MAX_TOTAL_CHARS) return
    known.tooLarge = true
    // What it printed is told, as much of it as anybody reads.
    const shown = cap(outputOf(known.call))
    this.#drop(known)
    known.call.rawOutput = shown
  }

  #drop(known: KnownCall): void {
    this.#chars -= known.chars
    known.chars = 0
    const { rawInput: _, content: __, rawOutput: ___, ...rest } = known.call
    known.call = rest
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

function outputOf({ rawOutput, content }: AcpToolCall): string {
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
