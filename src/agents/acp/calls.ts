import { isObject } from '../../base/json.ts'
import type { ToolNaming } from '../../domain/agent-manifest.ts'
import type { AgentToolName } from '../../domain/agent-tools.ts'
import { toolCallName } from '../../domain/own-server.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { OwnTools } from '../own-tools.ts'
import { capOutput } from '../session-output.ts'
import { type AcpNamedCall, type EndedCall, nameCalls, readInput, readToolName } from './tool-names.ts'
import type { AcpToolCall, Content } from './wire.ts'

/** Calls are remembered until the end of their turn; an agent that makes up ids without end must not fill the memory. */
const MAX_CALLS = 2000

/** The most that is kept of one open call: a sensible agent never sends more. */
const MAX_CALL_CHARS = 4_000_000
/** The most that is kept of all open calls together. */
const MAX_TOTAL_CHARS = 64_000_000
/** The fields of a call that can be large. */
const LARGE = ['rawInput', 'content', 'rawOutput'] as const

interface KnownCall {
  call: AcpToolCall
  /** The size of its large fields. */
  chars: number
  /** Some of it was dropped: it cannot be judged any more. */
  tooLarge: boolean
  /** We were asked about it. */
  asked: boolean
  /** It may fail without an ask: a refusal of another call or a stop of ours came first. */
  excused: boolean
  /** Its request was emitted. */
  requested: boolean
  /** Its end was emitted. */
  over: boolean
  /** We allowed it. */
  allowed: boolean
  /** The agent itself reported its end: done, failed, or refused and dropped. */
  settled: boolean
}

/** The calls of one session. Agents report each call in pieces, and in an order of their own. */
export class AcpCalls {
  readonly #naming: ToolNaming
  readonly #own: OwnTools | undefined
  readonly #calls = new Map<string, KnownCall>()
  /** Calls that started a subagent which has made calls since. */
  readonly #parents = new Set<string>()
  #chars = 0

  constructor(naming: ToolNaming, own?: OwnTools) {
    this.#naming = naming
    this.#own = own
  }

  /** How many calls run now. A call that only waits for its subagent does not count. */
  get running(): number {
    return [...this.#calls].filter(([id, call]) => call.requested && !call.over && !this.#parents.has(id)).length
  }

  /** Whether a call other than this one was allowed and has not ended. A call that only waits for its subagent does not count. */
  hasGranted(except: string): boolean {
    return [...this.#calls].some(([id, { allowed }]) => allowed && id !== except && !this.#parents.has(id))
  }

  /** How many calls the agent has announced and not yet ended. */
  get open(): number {
    return [...this.#calls.values()].filter(call => !call.settled).length
  }

  /** Adds a piece to a call and returns the call. Fields that the piece does not hold stay as they were; a settled call takes no more. */
  add(piece: AcpToolCall): AcpToolCall {
    // The id of a finished call may be used again, but not its permission.
    if (piece['sessionUpdate'] === 'tool_call') this.#forgetSettled(piece.toolCallId)
    const known = this.#ensure(piece.toolCallId)
    if (known.settled) return known.call
    const { rawInput, ...rest } = piece
    const fields = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value)))
    known.call = { ...known.call, ...fields }
    if (!isEmpty(rawInput)) known.call.rawInput = mergeInput(known.call.rawInput, rawInput)
    this.#addSize(known, piece)
    return known.call
  }

  /** A call that we are asked about. */
  ask(piece: AcpToolCall): AcpToolCall {
    this.#forgetSettled(piece.toolCallId)
    const call = this.add(piece)
    this.#ensure(piece.toolCallId).asked = true
    return call
  }

  isTooLarge(callId: string): boolean {
    return this.#calls.get(callId)?.tooLarge ?? false
  }

  /** The agent reports the end of a call; undefined when it has reported it before. */
  settle(call: AcpToolCall, { ok }: { ok: boolean }): EndedCall | undefined {
    const known = this.#ensure(call.toolCallId)
    if (known.settled) return undefined
    known.settled = true
    const { asked, allowed, excused } = known
    known.allowed = false
    const [kind, title] = [call.kind ?? undefined, call.title ?? undefined]
    return { kind, title, named: this.named(call), ok, output: outputOf(call), asked, allowed, excused }
  }

  /** Whether a call has output although we were never asked about it: then it runs, whatever its status says. */
  hasUnaskedOutput({ toolCallId, rawOutput }: AcpToolCall): boolean {
    const known = this.#ensure(toolCallId)
    return !known.asked && !known.settled && !isEmpty(rawOutput)
  }

  /** A refusal or a stop lets calls fail that were not asked about yet. */
  excuseUnasked(): void {
    for (const known of this.#calls.values()) if (!known.settled && !known.asked) known.excused = true
  }

  /** A call that the agent has announced. */
  announced(callId: string): AcpToolCall | undefined {
    return this.#calls.get(callId)?.call
  }

  /** The call in our own terms. */
  named(call: AcpToolCall): AcpNamedCall[] {
    const own = this.own(call)
    if (own) return [{ tool: toolCallName(own), input: readInput(call) }]
    return nameCalls(call, this.#naming)
  }

  /** Our tool that it calls. No other tool of the agent has this kind and such a name. */
  own(call: AcpToolCall): AgentToolName | undefined {
    return call.kind === 'other' ? this.#own?.findTool(readToolName(call, this.#naming)) : undefined
  }

  /** The request as an event, once for each call. */
  request(call: AcpToolCall, by: { agentId?: string }): SessionEvent[] {
    const known = this.#ensure(call.toolCallId)
    if (known.requested) return []
    known.requested = true
    if (by.agentId !== undefined) this.#parents.add(by.agentId)
    const [first] = this.named(call)
    if (!first) return []
    return [{ kind: 'tool_request', callId: call.toolCallId, tool: first.tool, input: first.input, ...by }]
  }

  allow(callId: string): void {
    const known = this.#ensure(callId)
    known.asked = true
    known.allowed = true
  }

  /** How a call ended, once. */
  result(call: AcpToolCall, { ok, output, ...by }: { ok: boolean; output?: string; agentId?: string }): SessionEvent[] {
    const known = this.#ensure(call.toolCallId)
    if (known.over) return []
    known.over = true
    const shown = capOutput(output ?? outputOf(call))
    this.#drop(known)
    return [{ kind: 'tool_result', callId: call.toolCallId, ok, output: shown, ...by }]
  }

  /** The turn is over: its calls are not asked about any more. */
  forget(): void {
    this.#calls.clear()
    this.#chars = 0
    this.#parents.clear()
  }

  #ensure(callId: string): KnownCall {
    const known = this.#calls.get(callId)
    if (known) return known
    const created: KnownCall = {
      ...{ call: { toolCallId: callId }, chars: 0, tooLarge: false },
      ...{ requested: false, over: false, asked: false, allowed: false, excused: false, settled: false },
    }
    this.#calls.set(callId, created)
    if (this.#calls.size > MAX_CALLS) this.#forgetOldest()
    return created
  }

  /** Forgets a settled call first: the permission of an open call is still needed to check its end. */
  #forgetOldest(): void {
    for (const [id, { settled }] of this.#calls) if (settled) return void this.#calls.delete(id)
    const [[id, known] = []] = this.#calls
    if (known) this.#drop(known)
    this.#calls.delete(id ?? '')
  }

  #forgetSettled(callId: string): void {
    if (this.#calls.get(callId)?.settled) this.#calls.delete(callId)
  }

  #addSize(known: KnownCall, piece: AcpToolCall): void {
    const more = LARGE.reduce((sum, field) => sum + (JSON.stringify(piece[field])?.length ?? 0), 0)
    known.chars += more
    this.#chars += more
    if (known.chars <= MAX_CALL_CHARS && this.#chars <= MAX_TOTAL_CHARS) return
    known.tooLarge = true
    // Its output is kept, as much of it as a person would read.
    const shown = capOutput(outputOf(known.call))
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

/** A permission request may contain less of the input than was reported before; both come from the agent. */
function mergeInput(before: unknown, now: unknown): unknown {
  return isObject(before) && isObject(now) ? { ...before, ...now } : now
}

function outputOf({ rawOutput, content }: AcpToolCall): string {
  if (typeof rawOutput === 'string') return rawOutput
  const shown = (content ?? []).map(describePart).filter(Boolean).join('\n')
  if (shown) return shown
  return isEmpty(rawOutput) ? '' : JSON.stringify(rawOutput)
}

function describePart(part: Content): string {
  if (part.type === 'content') return part.content?.text ?? `[${part.content?.type ?? 'content'}]`
  return part.type === 'diff' ? `[changed ${part.path ?? 'a file'}]` : `[${part.type}]`
}
