import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { AgentToolName, ToolReply } from '../domain/agent-tools.ts'
import { toolCallName } from '../domain/own-server.ts'
import type { Answer, Park, Question, Request } from '../domain/session.ts'
import type { CheckedAsks } from './checked-asks.ts'
import type { AskRecord } from './session-output.ts'

/** The asks to use, and the listeners to notify. */
export interface OwnToolsCallbacks {
  asks: CheckedAsks
  cwd: string
  /** Aborts when the turn is stopped; already aborted while there is no turn. */
  turn(): AbortSignal
  /** A call arrived with its full input: some agents announce less. */
  arrived(call: { callId: string; input: Record<string, unknown>; agentId?: string }): void
  asked(ask: AskRecord): void
  questioned(question: Question): void
  /** A call was refused; the model gets the reason as its result. */
  denied(): void
  /** A call or a question waits for a person: this turn ends. */
  parked(what: { callId: string; tool: string }): void
}

/** A call that the agent announced and that was let through to us. */
interface AnnouncedCall {
  callId: string
  name: AgentToolName
  input: Record<string, unknown>
  agentId?: string | undefined
}

/** More than an agent announces at once; the oldest are forgotten, because some never arrive. */
const MAX_ANNOUNCED = 100

/**
 * Our tools of one session, for an agent that calls them through a program of its own. Their server has a name that nobody could
 * guess before this session was opened, so a call with that name can only lead here and is let through; what is judged is the call that
 * arrives, by its real input, just before it is executed.
 */
export class OwnTools {
  readonly names: readonly AgentToolName[]
  readonly server: string
  readonly #byCall: ReadonlyMap<string, AgentToolName>
  #announced: AnnouncedCall[] = []
  #callbacks: OwnToolsCallbacks | undefined
  #arrived = 0
  #listings = 0

  /** `form` is the agent's naming scheme for a server's tool, for example `mcp__{server}__{tool}`. */
  constructor(names: readonly AgentToolName[], form: string, server = `pcc_${randomBytes(6).toString('hex')}`) {
    this.names = names
    this.server = server
    const qualify = (name: string) => form.replaceAll('{server}', server).replaceAll('{tool}', name)
    this.#byCall = new Map(names.map(name => [qualify(name), name]))
  }

  bind(callbacks: OwnToolsCallbacks): void {
    this.#callbacks = callbacks
  }

  /** The tools were listed. The server asks once for itself, to check that it may, and once more for the agent. */
  listed(): void {
    this.#listings++
  }

  /** The agent has the list of tools. */
  get isListed(): boolean {
    return this.#listings > 1
  }

  /** Our tool that an agent calls by this name. */
  findTool(called: string | null | undefined): AgentToolName | undefined {
    return called == null ? undefined : this.#byCall.get(called)
  }

  /** A call was let through and will arrive here. */
  announced(call: AnnouncedCall): void {
    this.#announced = [...this.#announced, call].slice(-MAX_ANNOUNCED)
  }

  /** Calls announced in a turn that is over do not arrive any more. */
  forget(): void {
    this.#announced = []
  }

  /** Judges a call that has arrived and executes it. */
  async call(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply> {
    const callbacks = this.#callbacks
    const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
    const call = this.#take(name, fields)
    const stop = AbortSignal.any([signal, callbacks?.turn() ?? AbortSignal.abort()])
    if (!callbacks || stop.aborted) return { ok: false, text: 'Not done: there is no turn that it belongs to.' }
    callbacks.arrived({ ...call, input: fields })
    return name === 'ask_human'
      ? this.#ask(fields, { call, callbacks, stop })
      : this.#run(name, fields, { call, callbacks, stop })
  }

  async #run(
    name: AgentToolName,
    input: Record<string, unknown>,
    { call, callbacks, stop }: Arrival,
  ): Promise<ToolReply> {
    const request: Request = { ...call, tool: toolCallName(name), input, cwd: callbacks.cwd, own: true }
    const reply = await callbacks.asks.permission(structuredClone(request), stop)
    callbacks.asked({ kind: 'permission', request, reply })
    if (stop.aborted) return CANCELLED
    if ('park' in reply) return park(reply, request, callbacks)
    if (reply.verdict === 'allow') return callbacks.asks.tool(name, input, stop)
    callbacks.denied()
    return { ok: false, text: reply.reason }
  }

  async #ask(input: Record<string, unknown>, { call, callbacks, stop }: Arrival): Promise<ToolReply> {
    const asked = readHumanQuestion(call.callId, input)
    if (!asked) return { ok: false, text: 'The question could not be read. Ask it in another form.' }
    const question: Question = { ...asked, ...call }
    callbacks.questioned(question)
    const reply = await callbacks.asks.question(structuredClone(question), stop)
    callbacks.asked({ kind: 'question', request: question, reply })
    if (stop.aborted) return CANCELLED
    if ('park' in reply) return park(reply, { ...call, tool: toolCallName('ask_human') }, callbacks)
    if ('declined' in reply) return { ok: false, text: explainNoAnswer(reply) }
    return { ok: true, text: Object.values(reply.answers).flat().join(', ') }
  }

  /** Finds the announcement of a call. An agent that asks for no permission announces nothing: then only the arrived call is known. */
  #take(name: AgentToolName, input: Record<string, unknown>): Arrival['call'] {
    const same = this.#announced.filter(call => call.name === name)
    const announced = same.find(call => isDeepStrictEqual(call.input, input)) ?? same[0]
    this.#announced = this.#announced.filter(call => call !== announced)
    this.#arrived++
    const { callId = `pcc-tool-${this.#arrived}`, agentId } = announced ?? {}
    return { callId, ...(agentId !== undefined && { agentId }) }
  }
}

interface Arrival {
  call: { callId: string; agentId?: string }
  callbacks: OwnToolsCallbacks
  stop: AbortSignal
}

const CANCELLED: ToolReply = { ok: false, text: 'Not done: it was called off.' }

function park(
  { reason }: Park,
  { callId, tool, agentId }: { callId: string; tool: string; agentId?: string | undefined },
  callbacks: OwnToolsCallbacks,
): ToolReply {
  if (agentId !== undefined)
    return { ok: false, text: `Nobody can answer now (${reason}). Go on without, and tell who called you.` }
  callbacks.parked({ callId, tool })
  return { ok: false, text: `It waits for a person (${reason}). What they say comes with the next message.` }
}

const HumanQuestion = z.object({ question: z.string().min(1), options: z.array(z.string().min(1)).max(9).optional() })

/** The question that our own tool `ask_human` asks; undefined when it cannot be read. */
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
