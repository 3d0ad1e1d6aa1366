import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { type AgentToolName, type ToolReply, toolCallName } from '../domain/agent-tools.ts'
import type { Answer, Park, Question, Request } from '../domain/session.ts'
import type { CheckedAsks } from './checked-asks.ts'
import type { AskRecord } from './session-output.ts'

/** Who is asked, and who hears of it. */
export interface OwnToolsCallbacks {
  asks: CheckedAsks
  cwd: string
  /** Aborts when the turn is stopped, and is aborted while there is none. */
  turn(): AbortSignal
  /** It has arrived, and this is what it holds: some agents announce less. */
  arrived(call: { callId: string; input: Record<string, unknown>; agentId?: string }): void
  asked(ask: AskRecord): void
  questioned(question: Question): void
  /** A call was refused, and the model hears why as its result. */
  denied(): void
  /** A call, or a question, waits for a person: this turn ends. */
  parked(what: { callId: string; tool: string }): void
}

/** A call that the agent has announced and that was let through to here. */
interface AnnouncedCall {
  callId: string
  name: AgentToolName
  input: Record<string, unknown>
  agentId?: string | undefined
}

/** More than an agent announces at once; one that never came is forgotten. */
const MAX_ANNOUNCED = 100

/**
 * The tools of ours that one session has, for an agent that calls them through a program of its own. Their server has a name that
 * nobody could guess before this session was opened: what bears it leads here and nowhere else, so it may come; judged is what
 * arrived, by what it really holds, just before it is done.
 */
export class OwnTools {
  readonly names: readonly AgentToolName[]
  readonly server: string
  readonly #byCall: ReadonlyMap<string, AgentToolName>
  #coming: AnnouncedCall[] = []
  #keeper: OwnToolsCallbacks | undefined
  #arrived = 0
  #listings = 0

  /** `form` is how the agent calls a tool of a server: `mcp__{server}__{tool}`, say. */
  constructor(names: readonly AgentToolName[], form: string, server = `pcc_${randomBytes(6).toString('hex')}`) {
    this.names = names
    this.server = server
    const called = (name: string) => form.replaceAll('{server}', server).replaceAll('{tool}', name)
    this.#byCall = new Map(names.map(name => [called(name), name]))
  }

  bind(keeper: OwnToolsCallbacks): void {
    this.#keeper = keeper
  }

  /** The server asks once for itself, to see that it may, and once more for the agent. */
  listed(): void {
    this.#listings++
  }

  /** The agent knows what there is. */
  get isKnown(): boolean {
    return this.#listings > 1
  }

  /** The tool of ours that an agent calls by this name. */
  toolOf(called: string | null | undefined): AgentToolName | undefined {
    return called == null ? undefined : this.#byCall.get(called)
  }

  /** It was let through, and will arrive here. */
  announced(coming: AnnouncedCall): void {
    this.#coming = [...this.#coming, coming].slice(-MAX_ANNOUNCED)
  }

  /** What was announced in a turn that is over does not come any more. */
  forget(): void {
    this.#coming = []
  }

  /** Judges a call that has arrived, and does it. */
  async call(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply> {
    const keeper = this.#keeper
    const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
    const coming = this.#take(name, given)
    const stop = AbortSignal.any([signal, keeper?.turn() ?? AbortSignal.abort()])
    if (!keeper || stop.aborted) return { ok: false, text: 'Not done: there is no turn that it belongs to.' }
    keeper.arrived({ ...coming, input: given })
    return name === 'ask_human'
      ? this.#ask(given, { coming, keeper, stop })
      : this.#do(name, given, { coming, keeper, stop })
  }

  async #do(
    name: AgentToolName,
    input: Record<string, unknown>,
    { coming, keeper, stop }: Arrival,
  ): Promise<ToolReply> {
    const request: Request = { ...coming, tool: toolCallName(name), input, cwd: keeper.cwd, own: true }
    const reply = await keeper.asks.permission(structuredClone(request), stop)
    keeper.asked({ kind: 'permission', request, reply })
    if (stop.aborted) return CANCELLED
    if ('park' in reply) return park(reply, request, keeper)
    if (reply.verdict === 'allow') return keeper.asks.tool(name, input, stop)
    keeper.denied()
    return { ok: false, text: reply.reason }
  }

  async #ask(input: Record<string, unknown>, { coming, keeper, stop }: Arrival): Promise<ToolReply> {
    const asked = readHumanQuestion(coming.callId, input)
    if (!asked) return { ok: false, text: 'The question could not be read. Ask it in another form.' }
    const question: Question = { ...asked, ...coming }
    keeper.questioned(question)
    const reply = await keeper.asks.question(structuredClone(question), stop)
    keeper.asked({ kind: 'question', request: question, reply })
    if (stop.aborted) return CANCELLED
    if ('park' in reply) return park(reply, { ...coming, tool: toolCallName('ask_human') }, keeper)
    if ('declined' in reply) return { ok: false, text: explainNoAnswer(reply) }
    return { ok: true, text: Object.values(reply.answers).flat().join(', ') }
  }

  /** An agent that asks nobody is not announced: then nothing is known but what arrived. */
  #take(name: AgentToolName, input: Record<string, unknown>): Arrival['coming'] {
    const same = this.#coming.filter(one => one.name === name)
    const found = same.find(one => isDeepStrictEqual(one.input, input)) ?? same[0]
    this.#coming = this.#coming.filter(one => one !== found)
    this.#arrived++
    const { callId = `pcc-tool-${this.#arrived}`, agentId } = found ?? {}
    return { callId, ...(agentId !== undefined && { agentId }) }
  }
}

interface Arrival {
  coming: { callId: string; agentId?: string }
  keeper: OwnToolsCallbacks
  stop: AbortSignal
}

const CANCELLED: ToolReply = { ok: false, text: 'Not done: it was called off.' }

function park(
  { reason }: Park,
  { callId, tool, agentId }: { callId: string; tool: string; agentId?: string | undefined },
  keeper: OwnToolsCallbacks,
): ToolReply {
  if (agentId !== undefined)
    return { ok: false, text: `Nobody can answer now (${reason}). Go on without, and tell who called you.` }
  keeper.parked({ callId, tool })
  return { ok: false, text: `It waits for a person (${reason}). What they say comes with the next message.` }
}

const HumanQuestion = z.object({ question: z.string().min(1), options: z.array(z.string().min(1)).max(9).optional() })

/** What our own tool `ask_human` asks; undefined where it cannot be read. */
export function readHumanQuestion(callId: string, input: unknown): Question | undefined {
  const asked = HumanQuestion.safeParse(input).data
  if (!asked) return undefined
  const options = (asked.options ?? []).map(label => ({ label, description: '' }))
  return { callId, questions: [{ question: asked.question, header: '', multiSelect: false, options }] }
}

/** Why nobody answered. */
export function explainNoAnswer(reply: Answer | Park): string {
  if ('park' in reply) return `Nobody can answer now (${reply.reason}).`
  return 'declined' in reply
    ? `No answer: ${reply.declined}`
    : 'No answer. Decide by yourself and say what you assumed.'
}
