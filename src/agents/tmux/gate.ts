import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import type { AgentToolName } from '../../domain/agent-tools.ts'
import { toolCallName } from '../../domain/own-server.ts'
import { Question, type Request } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { Tripwire } from '../claude/gate.ts'
import type { OwnTools } from '../own-tools.ts'
import type { HookReply } from '../own-tools-server.ts'

const ToolCall = z.object({
  tool_name: z.string().min(1),
  tool_use_id: z.string().min(1),
  tool_input: z.record(z.string(), z.unknown()),
  cwd: z.string(),
  agent_id: z.string().optional(),
})
type ToolCall = z.infer<typeof ToolCall>
/** The vendor does not send the id of the call it asks about, only its tool and input. */
const Asked = ToolCall.pick({ tool_name: true, tool_input: true })

export interface TmuxGateCallbacks {
  asks: CheckedAsks
  called(request: Request): void
  /** A call is about to be allowed: it is recorded for the next daemon. */
  allowed(callId: string): void
  denied(): void
  gaveUp(request: Request): void
  /** A person has the terminal: calls that need a person are asked there, by the agent's own dialog. */
  takenOver(): boolean
}

interface Judged {
  callId: string
  tool: string
  input: Record<string, unknown>
  /** `person`: the person at the terminal answers. */
  by: 'pcc' | 'person'
}

const HANDED_BACK = 'It needs a person, who has just handed back. Make the call again if it is still needed.'

/** More open calls than an agent ever has at once; the oldest are dropped, because an interrupted call is never asked about again. */
const MOST_JUDGED = 200

/**
 * The only way for a tool call of an agent in a terminal to run. `PreToolUse` sees every call, in every permission mode, and
 * always decides: it denies, or says `ask`. `ask` makes Claude Code call `PermissionRequest`, where the judged input is handed
 * out, and only if the call is still the one that was judged: another hook may have replaced it in between.
 */
export class TmuxGate {
  readonly #callbacks: TmuxGateCallbacks
  readonly #closed = new AbortController()
  readonly #tripwire = new Tripwire()
  #judged: Judged[] = []
  #own: OwnTools | undefined
  /** Calls for which the agent's own dialog is open. */
  readonly #withPerson = new Set<string>()

  constructor(callbacks: TmuxGateCallbacks) {
    this.#callbacks = callbacks
  }

  /** Sets our tools for this window. */
  setTools(own: OwnTools): void {
    this.#own = own
  }

  /** Takes over the calls that an earlier daemon has allowed. */
  restoreAllowed(allowed: readonly string[]): void {
    for (const callId of allowed) {
      this.#tripwire.judging(callId)
      this.#tripwire.allowed(callId)
    }
  }

  /** Aborts asks that are still open. */
  close(): void {
    this.#closed.abort()
  }

  /** The agent's own dialog asks a person, or is about to: a key press now would answer it. */
  get asksPerson(): boolean {
    return this.#withPerson.size > 0
  }

  /** The turn is over, and with it every dialog. */
  settled(): void {
    this.#withPerson.clear()
  }

  /**
   * The call that ran without our permission, if this message reports one. A call that another hook refused did not run. A call of `past`
   * in the record of a subagent is a copy and did not run again.
   */
  unjudged(message: Record<string, unknown>, past: () => readonly string[] = () => []): string | undefined {
    for (const { tool_use_id } of resultsIn(message)) this.#withPerson.delete(String(tool_use_id))
    for (const callId of refusedByHook(message)) this.#tripwire.judging(callId)
    const call = this.#tripwire.read(message)
    if (call === undefined || message['isSidechain'] !== true) return call
    this.restoreAllowed(past())
    return this.#tripwire.read(message)
  }

  /** `PreToolUse` */
  async before(input: unknown, signal: AbortSignal): Promise<HookReply> {
    const call = ToolCall.safeParse(input).data
    if (!call || this.#closed.signal.aborted) return this.#deny('Not allowed: the call could not be judged.')
    const request = requestOf(call)
    this.#tripwire.judging(request.callId)
    const own = this.#own?.findTool(request.tool)
    if (own) return this.#announceOwn(request, own)
    this.#callbacks.called(request)
    const either = AbortSignal.any([signal, this.#closed.signal])
    return call.tool_name === 'AskUserQuestion' ? this.#question(request, either) : this.#permission(request, either)
  }

  /** `PermissionRequest` */
  asked(input: unknown): HookReply {
    const call = Asked.safeParse(input).data
    const at = this.#judged.findIndex(
      ({ tool, input }) => tool === call?.tool_name && isDeepStrictEqual(input, call.tool_input),
    )
    const judged = this.#judged[at]
    if (!judged) return permissionReply({ behavior: 'deny', message: 'This call was never judged, so it may not run.' })
    this.#judged.splice(at, 1)
    if (judged.by === 'person') return this.#openDialog(judged)
    return permissionReply({ behavior: 'allow', updatedInput: judged.input })
  }

  /** After a handback nobody is at the terminal: the dialog would wait for ever and take the next prompt as its answer. */
  #openDialog({ callId }: Judged): HookReply {
    if (!this.#callbacks.takenOver()) return permissionReply({ behavior: 'deny', message: HANDED_BACK })
    this.#withPerson.add(callId)
    return undefined
  }

  /** Lets a call of one of our own tools through: it is judged on arrival. */
  #announceOwn(request: Request, name: AgentToolName): HookReply {
    const { callId, input, agentId } = request
    this.#callbacks.called({ ...request, tool: toolCallName(name), own: true })
    this.#own?.announced({ callId, name, input, agentId })
    this.#allow(request, 'pcc')
    return preToolUse({ permissionDecision: 'ask', permissionDecisionReason: 'It is judged where it arrives.' })
  }

  async #permission(request: Request, signal: AbortSignal): Promise<HookReply> {
    const reply = await this.#callbacks.asks.permission(structuredClone(request), signal)
    const needsPerson = 'park' in reply || (reply.verdict !== 'allow' && reply.by === 'nobody')
    if (needsPerson && this.#callbacks.takenOver())
      return this.#leaveToPerson(request, 'This one is yours to decide (pcc).')
    if ('park' in reply) return this.#park(request, reply.reason)
    if (reply.verdict !== 'allow') return this.#deny(reply.reason)
    this.#allow(request, 'pcc')
    return preToolUse({ permissionDecision: 'ask', permissionDecisionReason: reply.reason })
  }

  async #question(request: Request, signal: AbortSignal): Promise<HookReply> {
    const { callId, agentId, input } = request
    const question = Question.safeParse({ callId, ...(agentId && { agentId }), questions: input['questions'] }).data
    if (!question) return this.#deny('The question could not be read. Ask it in another form.')
    if (this.#callbacks.takenOver()) return this.#leaveToPerson(request, 'The person at the terminal is asked.')
    const reply = await this.#callbacks.asks.question(structuredClone(question), signal)
    if (this.#callbacks.takenOver()) return this.#leaveToPerson(request, 'The person at the terminal is asked.')
    if ('park' in reply) return this.#park(request, reply.reason)
    if ('declined' in reply) return this.#deny(reply.declined)
    this.#allow(request, undefined)
    const answers = Object.fromEntries(
      Object.entries(reply.answers).map(([text, answer]) => [text, [answer].flat().join(', ')]),
    )
    return preToolUse({
      permissionDecision: 'allow',
      permissionDecisionReason: 'answered',
      updatedInput: { ...input, answers },
    })
  }

  #leaveToPerson(request: Request, reason: string): HookReply {
    this.#allow(request, 'person')
    return preToolUse({ permissionDecision: 'ask', permissionDecisionReason: reason })
  }

  /** A call in a terminal cannot be deferred: it is refused, its turn is ended, and the answer comes with the next prompt. */
  #park(request: Request, reason: string): HookReply {
    if (request.agentId !== undefined) {
      return this.#deny(`Nobody can answer now (${reason}). Go on without, and tell who called you.`)
    }
    this.#callbacks.gaveUp(request)
    return this.#deny(`It waits for a person (${reason}). What they say comes with the next message.`)
  }

  #deny(reason: string): HookReply {
    this.#callbacks.denied()
    return preToolUse({ permissionDecision: 'deny', permissionDecisionReason: reason })
  }

  #allow({ callId, tool, input }: Request, by: Judged['by'] | undefined): void {
    this.#tripwire.allowed(callId)
    this.#callbacks.allowed(callId)
    if (by) this.#judged = [...this.#judged, { callId, tool, input, by }].slice(-MOST_JUDGED)
  }
}

function preToolUse(decision: Record<string, unknown>): HookReply {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
}

function permissionReply(decision: Record<string, unknown>): HookReply {
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }
}

function requestOf({ tool_name, tool_use_id, tool_input, cwd, agent_id }: ToolCall): Request {
  const input = structuredClone(tool_input)
  return { callId: tool_use_id, tool: tool_name, input, cwd, ...(agent_id !== undefined && { agentId: agent_id }) }
}

/** Claude Code's own text for a refusal by a hook. An error of a shell begins with its exit code, and an error of the vendor's tools with a tag. */
const BY_HOOK = /^PreToolUse:\S+ hook error: /

function* refusedByHook(message: Record<string, unknown>): Generator<string> {
  for (const { tool_use_id, is_error, content } of resultsIn(message)) {
    if (is_error === true && typeof content === 'string' && BY_HOOK.test(content)) yield String(tool_use_id)
  }
}

function resultsIn(message: Record<string, unknown>): Record<string, unknown>[] {
  const { content } = (message['message'] ?? {}) as { content?: unknown }
  return Array.isArray(content) ? content.filter(block => block?.type === 'tool_result') : []
}
