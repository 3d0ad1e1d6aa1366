import type {
  CanUseTool,
  HookCallback,
  HookInput,
  HookJSONOutput,
  Options,
  PermissionResult,
} from '@anthropic-ai/claude-agent-sdk'
import * as z from 'zod'
import { isObject } from '../../base/json.ts'
import { OWN_SERVER, toolCallName } from '../../domain/own-server.ts'
import { type Answer, type Park, Question, type Request, type Verdict } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'

const ToolCall = z.object({
  tool_name: z.string().min(1),
  tool_use_id: z.string().min(1),
  tool_input: z.record(z.string(), z.unknown()),
  cwd: z.string(),
  session_id: z.string().optional(),
  agent_id: z.string().optional(),
  /** The server of the tool, as the vendor knows it: only this process can have a server whose source is `sdk`. */
  mcp_server: z.object({ name: z.string(), source: z.string() }).optional(),
})
type ToolCall = z.infer<typeof ToolCall>

/** The asks to use, and the listeners to notify. Bound when a session takes the process: a warm process has none yet. */
export interface ClaudeGateCallbacks {
  asks: CheckedAsks
  called(request: Request): void
  /** A call waits for a person, and the agent was told to end its turn. The call is not offered again. */
  gaveUp(request: Request): void
  /** A person's answer to a question of `ask_human`; the tool itself runs after this. */
  answered(question: string, answer: string): void
  asked(ask: { kind: 'permission'; request: Request; reply: Verdict | Park }): void
  asked(ask: { kind: 'question'; request: Question; reply: Answer | Park }): void
}

type Decision =
  | { decision: 'deny' | 'defer'; reason: string }
  | { decision: 'ask'; reason: string; judged: PermissionResult }

/** The hook's timeout is longer than the ask's own deadline, so that our reason reaches the agent and not the vendor's. */
const MARGIN_S = 30

/**
 * The only way for a tool call to run. A hook without a matcher sees every call in every permission mode, those of
 * subagents included, and always decides: it denies, defers, or says `ask`. `ask` makes Claude Code call `canUseTool`,
 * which hands out the *judged* input. The input that Claude Code would use by itself is not trusted, because another hook
 * may have replaced it after we judged it. Every failure blocks the call.
 */
export class ClaudeGate {
  readonly #judged = new Map<string, PermissionResult>()
  /** Conversations that this process has left: none of their calls may be taken for one of the session that is bound now. */
  readonly #left = new Set<string>()
  #tripwire = new Tripwire()
  readonly #closed = new AbortController()
  readonly #deadlineMs: number
  #callbacks: ClaudeGateCallbacks | undefined
  #pausing = false
  #gaveUp = false

  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs
  }

  bind(callbacks: ClaudeGateCallbacks): void {
    this.#callbacks = callbacks
  }

  /** Unbinds the gate from a session that leaves the process to the next one: until that is bound, every call is denied. */
  release(conversation: string | undefined): void {
    if (conversation !== undefined) this.#left.add(conversation)
    this.#callbacks = undefined
    this.#judged.clear()
    this.#tripwire = new Tripwire()
    this.open()
  }

  /** Lets the turn stop when the tools in flight are done. */
  pause(): void {
    this.#pausing = true
  }

  /** Resets the gate for the next turn. */
  open(): void {
    this.#pausing = false
    this.#gaveUp = false
  }

  /** Aborts asks that are still open. */
  close(): void {
    this.#closed.abort()
  }

  get closed(): boolean {
    return this.#closed.signal.aborted
  }

  /** The call that ran without being judged, if this message of the agent reports one. */
  unjudged(message: unknown): string | undefined {
    return this.#tripwire.read(message)
  }

  hooks(): NonNullable<Options['hooks']> {
    const timeout = Math.ceil(this.#deadlineMs / 1000) + MARGIN_S
    return {
      PreToolUse: [{ onFailure: 'block', timeout, hooks: [this.#before] }],
      PostToolBatch: [{ hooks: [this.#after] }],
      // The settings that were checked before the start stay in force: a settings file that appears or changes is not loaded.
      ConfigChange: [{ onFailure: 'block', hooks: [async () => ({ decision: 'block' })] }],
    }
  }

  readonly canUseTool: CanUseTool = async (_tool, _input, { toolUseID }) => {
    const judged = this.#judged.get(toolUseID)
    this.#judged.delete(toolUseID)
    if (judged?.behavior === 'allow') this.#tripwire.allowed(toolUseID)
    return judged ?? { behavior: 'deny', message: 'This call was never judged, so it may not run.' }
  }

  readonly #before: HookCallback = async (input, _id, { signal }) => {
    this.#tripwire.judging(callIdOf(input))
    const decided = await this.#decide(input, AbortSignal.any([signal, this.#closed.signal]))
    if (decided.decision === 'ask') this.#judged.set(callIdOf(input), decided.judged)
    return preToolUse(decided)
  }

  readonly #after: HookCallback = async () => {
    if (this.#gaveUp) return { continue: false, stopReason: 'A call waits for a person.' }
    return this.#pausing ? { continue: false, stopReason: 'Paused by the supervisor.' } : { continue: true }
  }

  async #decide(input: HookInput, signal: AbortSignal): Promise<Decision> {
    const call = ToolCall.safeParse(input).data
    const isOfAnother = call?.session_id !== undefined && this.#left.has(call.session_id)
    if (!call || !this.#callbacks || isOfAnother)
      return { decision: 'deny', reason: 'Not allowed: the call could not be judged.' }
    const callbacks = this.#callbacks
    const request = requestOf(call)
    callbacks.called(request)
    if (call.tool_name === 'AskUserQuestion') return this.#question(request, callbacks, signal)
    if (request.own && request.tool === ASK_HUMAN) return this.#askHuman(request, callbacks, signal)
    const reply = await callbacks.asks.permission(structuredClone(request), signal)
    callbacks.asked({ kind: 'permission', request, reply })
    if ('park' in reply) return this.#park(reply, request, callbacks)
    // A verdict of `ask` means that nobody decided.
    if (reply.verdict !== 'allow') return { decision: 'deny', reason: reply.reason }
    return { decision: 'ask', reason: reply.reason, judged: { behavior: 'allow', updatedInput: request.input } }
  }

  /**
   * Claude Code can defer only a call of the main agent; a subagent is refused and goes on. Claude Code does defer a call of an MCP tool
   * but does not offer it again, because the server is not connected yet when it checks. Such a call is given up and its turn ended.
   */
  #park({ reason }: Park, request: Request, callbacks: ClaudeGateCallbacks): Decision {
    if (request.agentId !== undefined)
      return {
        decision: 'deny',
        reason: `Nobody can answer now (${reason}). Go on without, and tell who called you.`,
      }
    if (!request.tool.startsWith('mcp__')) return { decision: 'defer', reason }
    this.#gaveUp = true
    callbacks.gaveUp(request)
    return { decision: 'deny', reason: `It waits for a person (${reason}). What they say comes with the next message.` }
  }

  /** Our own `ask_human` is handled like the vendor's question tool, so that it can be deferred and answered later. */
  async #askHuman(request: Request, callbacks: ClaudeGateCallbacks, signal: AbortSignal): Promise<Decision> {
    const asked = HumanQuestion.safeParse(request.input).data
    if (!asked) return { decision: 'deny', reason: 'The question could not be read. Ask it in another form.' }
    const { question: text, options = [] } = asked
    const input = { questions: [{ question: text, options: options.map(label => ({ label })) }] }
    const decided = await this.#question({ ...request, input }, callbacks, signal)
    if (decided.decision !== 'ask' || decided.judged.behavior !== 'allow') return decided
    const answers = decided.judged.updatedInput?.['answers'] as Record<string, string>
    callbacks.answered(text, answers[text] ?? '')
    return { ...decided, judged: { behavior: 'allow', updatedInput: request.input } }
  }

  async #question(request: Request, callbacks: ClaudeGateCallbacks, signal: AbortSignal): Promise<Decision> {
    const { callId, agentId, input } = request
    const question = Question.safeParse({ callId, ...(agentId && { agentId }), questions: input['questions'] }).data
    if (!question) return { decision: 'deny', reason: 'The question could not be read. Ask it in another form.' }
    const reply = await callbacks.asks.question(structuredClone(question), signal)
    callbacks.asked({ kind: 'question', request: question, reply })
    if ('park' in reply) return this.#park(reply, request, callbacks)
    const judged: PermissionResult =
      'declined' in reply
        ? { behavior: 'deny', message: reply.declined }
        : { behavior: 'allow', updatedInput: { ...input, answers: answersOf(reply.answers) } }
    return { decision: 'ask', reason: 'answered', judged }
  }
}

const ASK_HUMAN = toolCallName('ask_human')
const HumanQuestion = z.object({ question: z.string().min(1), options: z.array(z.string().min(1)).max(9).optional() })

function preToolUse({ decision, reason }: Decision): HookJSONOutput {
  return {
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: decision, permissionDecisionReason: reason },
  }
}

function requestOf({ tool_name, tool_use_id, tool_input, cwd, agent_id, mcp_server }: ToolCall): Request {
  const input = structuredClone(tool_input)
  const isOwn = mcp_server?.source === 'sdk' && mcp_server.name === OWN_SERVER
  return {
    ...{ callId: tool_use_id, tool: tool_name, input, cwd },
    ...(agent_id !== undefined && { agentId: agent_id }),
    ...(isOwn && { own: true as const }),
  }
}

function callIdOf(input: HookInput): string {
  return 'tool_use_id' in input ? String(input.tool_use_id) : ''
}

function answersOf(answers: Record<string, string | string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(answers).map(([text, chosen]) => [text, [chosen].flat().join(', ')]))
}

/**
 * The second check: every result of a tool call is compared with what the gate has seen. A call that succeeded without our
 * permission, or failed without having been asked about, means that the agent no longer calls our hook.
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

  /** The call that ran unjudged, if this message reports one. */
  read(message: unknown): string | undefined {
    for (const block of blocksOf(message)) {
      if (block['type'] === 'tool_use')
        this.#names.set(String(block['id']), `${block['name']} ${shorten(block['input'])}`)
      if (block['type'] !== 'tool_result') continue
      const callId = String(block['tool_use_id'])
      if (this.#ranUnjudged(callId, block)) return this.#names.get(callId) ?? callId
      this.#names.delete(callId)
    }
    return undefined
  }

  #ranUnjudged(callId: string, { is_error, content }: Record<string, unknown>): boolean {
    if (is_error !== true) return !this.#allowed.has(callId)
    return !this.#asked.has(callId) && !REFUSED_UNASKED.some(form => form.test(textOf(content)))
  }
}

/** Claude Code's texts for calls that it did not run, or not now, without asking anybody. The output of a tool cannot look like the first form. */
const REFUSED_UNASKED = [
  // Unknown tools and wrong input.
  /^<tool_use_error>[\s\S]*<\/tool_use_error>$/,
  // Calls of a batch that an interrupt prevented. The text for a call that was stopped while it ran ends differently.
  /^The user doesn't want to proceed with this tool use\. The tool use was rejected \([^)]*\)\. STOP what you are doing and wait for the user to tell you how to proceed\.$/,
  // A call of a process that died: the next process writes this in place of the result when it resumes the conversation.
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

function shorten(input: unknown): string {
  return (JSON.stringify(input) ?? '').slice(0, 200)
}
