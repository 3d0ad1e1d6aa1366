import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Park, Question, Request } from '../../domain/session.ts'
import { type AgentToolName, calledAs, type ToolReply } from '../../domain/tools/agent-tools.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import type { Asked } from '../turns/asked.ts'
import { humanQuestion, noAnswer } from './human-question.ts'

/** Who is asked, and who hears of it. */
export interface ToolKeeper {
  asks: CheckedAsks
  cwd: string
  /** Aborts when the turn is stopped, and is aborted while there is none. */
  turn(): AbortSignal
  /** It has arrived, and this is what it holds: some agents announce less. */
  arrived(call: { callId: string; input: Record<string, unknown>; agentId?: string }): void
  asked(ask: Asked): void
  questioned(question: Question): void
  /** A call was refused, and the model hears why as its result. */
  denied(): void
  /** A call, or a question, waits for a person: this turn ends. */
  parked(what: { callId: string; tool: string }): void
}

/** A call that the agent has announced and that was let through to here. */
interface Coming {
  callId: string
  name: AgentToolName
  input: Record<string, unknown>
  agentId?: string | undefined
}

/** More than an agent announces at once; one that never came is forgotten. */
const MOST_COMING = 100

/**
 * The tools of ours that one session has, for an agent that calls them through a program of its own. Their server has a name that
 * nobody could guess before this session was opened: what bears it leads here and nowhere else, so it may come; judged is what
 * arrived, by what it really holds, just before it is done.
 */
export class OwnTools {
  readonly names: readonly AgentToolName[]
  readonly server: string
  readonly #byCall: ReadonlyMap<string, AgentToolName>
  #coming: Coming[] = []
  #keeper: ToolKeeper | undefined
  #arrived = 0
  #listings = 0

  /** `form` is how the agent calls a tool of a server: `mcp__{server}__{tool}`, say. */
  constructor(names: readonly AgentToolName[], form: string, server = `pcc_${randomBytes(6).toString('hex')}`) {
    this.names = names
    this.server = server
    const called = (name: string) => form.replaceAll('{server}', server).replaceAll('{tool}', name)
    this.#byCall = new Map(names.map(name => [called(name), name]))
  }

  bind(keeper: ToolKeeper): void {
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
  announced(coming: Coming): void {
    this.#coming = [...this.#coming, coming].slice(-MOST_COMING)
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
    const request: Request = { ...coming, tool: calledAs(name), input, cwd: keeper.cwd, own: true }
    const reply = await keeper.asks.permission(structuredClone(request), stop)
    keeper.asked({ kind: 'permission', request, reply })
    if (stop.aborted) return CALLED_OFF
    if ('park' in reply) return park(reply, request, keeper)
    if (reply.verdict === 'allow') return keeper.asks.tool(name, input, stop)
    keeper.denied()
    return { ok: false, text: reply.reason }
  }

  async #ask(input: Record<string, unknown>, { coming, keeper, stop }: Arrival): Promise<ToolReply> {
    const asked = humanQuestion(coming.callId, input)
    if (!asked) return { ok: false, text: 'The question could not be read. Ask it in another form.' }
    const question: Question = { ...asked, ...coming }
    keeper.questioned(question)
    const reply = await keeper.asks.question(structuredClone(question), stop)
    keeper.asked({ kind: 'question', request: question, reply })
    if (stop.aborted) return CALLED_OFF
    if ('park' in reply) return park(reply, { ...coming, tool: calledAs('ask_human') }, keeper)
    if ('declined' in reply) return { ok: false, text: noAnswer(reply) }
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
  keeper: ToolKeeper
  stop: AbortSignal
}

const CALLED_OFF: ToolReply = { ok: false, text: 'Not done: it was called off.' }

function park(
  { reason }: Park,
  { callId, tool, agentId }: { callId: string; tool: string; agentId?: string | undefined },
  keeper: ToolKeeper,
): ToolReply {
  if (agentId !== undefined)
    return { ok: false, text: `Nobody can answer now (${reason}). Go on without, and tell who called you.` }
  keeper.parked({ callId, tool })
  return { ok: false, text: `It waits for a person (${reason}). What they say comes with the next message.` }
}
