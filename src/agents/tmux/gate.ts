import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { type AgentToolName, toolCallName } from '../../domain/agent-tools.ts'
import { Question, type Request } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { Tripwire } from '../claude/gate.ts'
import type { OwnTools } from '../own-tools.ts'
import type { HookReply } from './session-folder.ts'

const ToolCall = z.object({
  tool_name: z.string().min(1),
  tool_use_id: z.string().min(1),
  tool_input: z.record(z.string(), z.unknown()),
  cwd: z.string(),
  agent_id: z.string().optional(),
})
type ToolCall = z.infer<typeof ToolCall>
/** The vendor does not say which call it asks about, only what it is. */
const Asked = ToolCall.pick({ tool_name: true, tool_input: true })

export interface TmuxGateCallbacks {
  asks: CheckedAsks
  called(request: Request): void
  /** The yes is about to be given: what the next daemon must know of it is written down. */
  allowed(callId: string): void
  denied(): void
  gaveUp(request: Request): void
  /** A person has the terminal: what needs one is asked there, by the agent's own dialog. */
  takenOver(): boolean
}

interface Judged {
  callId: string
  tool: string
  input: Record<string, unknown>
  /** `person`: whoever sits at the terminal answers. */
  by: 'pcc' | 'person'
}

const HANDED_BACK = 'It needs a person, who has just handed back. Make the call again if it is still needed.'

/** More open calls than an agent ever has at once; one that was interrupted is never asked about again. */
const MOST_JUDGED = 200

/**
 * The one way by which a tool call of an agent in a terminal gets to run. `PreToolUse` sees every call, in every permission mode,
 * and always decides: it refuses, or says `ask`. `ask` makes Claude Code call `PermissionRequest`, where the judged input is
 * handed out, and only to a call that still is what was judged: another hook may have replaced it in between.
 */
export class TmuxGate {
  readonly #keeper: TmuxGateCallbacks
  readonly #closed = new AbortController()
  readonly #tripwire = new Tripwire()
  #judged: Judged[] = []
  #own: OwnTools | undefined
  /** Calls that the agent's own dialog is open for. */
  readonly #withPerson = new Set<string>()

  constructor(keeper: TmuxGateCallbacks) {
    this.#keeper = keeper
  }

  /** Tools of ours that this window has. */
  give(own: OwnTools): void {
    this.#own = own
  }

  /** Calls that an earlier daemon has allowed. */
  know(allowed: readonly string[]): void {
    for (const callId of allowed) {
      this.#tripwire.judging(callId)
      this.#tripwire.allowed(callId)
    }
  }

  /** Whoever is still asked is told that nobody waits any more. */
  close(): void {
    this.#closed.abort()
  }

  /** The agent's own dialog asks a person, or is about to: whatever is typed now answers it. */
  get asksPerson(): boolean {
    return this.#withPerson.size > 0
  }

  /** The turn is over, and with it every dialog. */
  settled(): void {
    this.#withPerson.clear()
  }

  /**
   * What ran without our yes, if this message tells of such a call. One that a hook refused without us, or before us, did not run; nor
   * did, once more, one of `past` that stands in the record of a subagent.
   */
  unjudged(message: Record<string, unknown>, past: () => readonly string[] = () => []): string | undefined {
    for (const { tool_use_id } of resultsIn(message)) this.#withPerson.delete(String(tool_use_id))
    for (const callId of refusedByHook(message)) this.#tripwire.judging(callId)
    const call = this.#tripwire.read(message)
    if (call === undefined || message['isSidechain'] !== true) return call
    this.know(past())
    return this.#tripwire.read(message)
  }

  /** `PreToolUse` */
  async before(input: unknown, signal: AbortSignal): Promise<HookReply> {
    const call = ToolCall.safeParse(input).data
    if (!call || this.#closed.signal.aborted) return this.#no('Not allowed: the call could not be judged.')
    const request = requestOf(call)
    this.#tripwire.judging(request.callId)
    const own = this.#own?.toolOf(request.tool)
    if (own) return this.#comes(request, own)
    this.#keeper.called(request)
    const given = AbortSignal.any([signal, this.#closed.signal])
    return call.tool_name === 'AskUserQuestion' ? this.#question(request, given) : this.#permission(request, given)
  }

  /** `PermissionRequest` */
  asked(input: unknown): HookReply {
    const call = Asked.safeParse(input).data
    const at = this.#judged.findIndex(
      ({ tool, input }) => tool === call?.tool_name && isDeepStrictEqual(input, call.tool_input),
    )
    const judged = this.#judged[at]
    if (!judged) return answered({ behavior: 'deny', message: 'This call was never judged, so it may not run.' })
    this.#judged.splice(at, 1)
    if (judged.by === 'person') return this.#dialog(judged)
    return answered({ behavior: 'allow', updatedInput: judged.input })
  }

  /** Handed back in between, nobody sits there: the dialog would wait without end, and for whatever is typed next. */
  #dialog({ callId }: Judged): HookReply {
    if (!this.#keeper.takenOver()) return answered({ behavior: 'deny', message: HANDED_BACK })
    this.#withPerson.add(callId)
    return undefined
  }

  /** A call of a tool of ours may come: it is judged where it arrives. */
  #comes(request: Request, name: AgentToolName): HookReply {
    const { callId, input, agentId } = request
    this.#keeper.called({ ...request, tool: toolCallName(name), own: true })
    this.#own?.announced({ callId, name, input, agentId })
    this.#yes(request, 'pcc')
    return preToolUse({ permissionDecision: 'ask', permissionDecisionReason: 'It is judged where it arrives.' })
  }

  async #permission(request: Request, signal: AbortSignal): Promise<HookReply> {
    const reply = await this.#keeper.asks.permission(structuredClone(request), signal)
    const needsPerson = 'park' in reply || (reply.verdict !== 'allow' && reply.by === 'nobody')
    if (needsPerson && this.#keeper.takenOver()) return this.#toPerson(request, 'This one is yours to decide (pcc).')
    if ('park' in reply) return this.#park(request, reply.reason)
    if (reply.verdict !== 'allow') return this.#no(reply.reason)
    this.#yes(request, 'pcc')
    return preToolUse({ permissionDecision: 'ask', permissionDecisionReason: reply.reason })
  }

  async #question(request: Request, signal: AbortSignal): Promise<HookReply> {
    const { callId, agentId, input } = request
    const question = Question.safeParse({ callId, ...(agentId && { agentId }), questions: input['questions'] }).data
    if (!question) return this.#no('The question could not be read. Ask it in another form.')
    if (this.#keeper.takenOver()) return this.#toPerson(request, 'The person at the terminal is asked.')
    const reply = await this.#keeper.asks.question(structuredClone(question), signal)
    if (this.#keeper.takenOver()) return this.#toPerson(request, 'The person at the terminal is asked.')
    if ('park' in reply) return this.#park(request, reply.reason)
    if ('declined' in reply) return this.#no(reply.declined)
    this.#yes(request, undefined)
    const answers = Object.fromEntries(
      Object.entries(reply.answers).map(([text, to]) => [text, [to].flat().join(', ')]),
    )
    return preToolUse({
      permissionDecision: 'allow',
      permissionDecisionReason: 'answered',
      updatedInput: { ...input, answers },
    })
  }

  #toPerson(request: Request, reason: string): HookReply {
    this.#yes(request, 'person')
    return preToolUse({ permissionDecision: 'ask', permissionDecisionReason: reason })
  }

  /** A call in a terminal cannot be put off: it is refused, its turn is ended, and the answer comes with the next prompt. */
  #park(request: Request, reason: string): HookReply {
    if (request.agentId !== undefined) {
      return this.#no(`Nobody can answer now (${reason}). Go on without, and tell who called you.`)
    }
    this.#keeper.gaveUp(request)
    return this.#no(`It waits for a person (${reason}). What they say comes with the next message.`)
  }

  #no(reason: string): HookReply {
    this.#keeper.denied()
    return preToolUse({ permissionDecision: 'deny', permissionDecisionReason: reason })
  }

  #yes({ callId, tool, input }: Request, by: Judged['by'] | undefined): void {
    this.#tripwire.allowed(callId)
    this.#keeper.allowed(callId)
    if (by) this.#judged = [...this.#judged, { callId, tool, input, by }].slice(-MOST_JUDGED)
  }
}

function preToolUse(said: Record<string, unknown>): HookReply {
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...said } }
}

function answered(decision: Record<string, unknown>): HookReply {
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }
}

function requestOf({ tool_name, tool_use_id, tool_input, cwd, agent_id }: ToolCall): Request {
  const input = structuredClone(tool_input)
  return { callId: tool_use_id, tool: tool_name, input, cwd, ...(agent_id !== undefined && { agentId: agent_id }) }
}

/** Claude Code's own words for it. What a shell did wrong begins with its exit code, and what a tool of the vendor's did, with a tag. */
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
