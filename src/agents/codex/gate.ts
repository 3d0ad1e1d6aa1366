import { setTimeout as sleep } from 'node:timers/promises'
import { AgentToolName } from '../../domain/agent-tools.ts'
import { OWN_SERVER, toolCallName } from '../../domain/own-server.ts'
import type { Answer, Park, Question, Request } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { explainNoAnswer, readHumanQuestion } from '../own-tools.ts'
import type { AskRecord } from '../session-output.ts'
import { type CodexCalls, type CodexNamedCall, nameChanges, nameCommand } from './calls.ts'
import { explainToolDenied, isReadingCommand } from './policy.ts'
import { ChangeAsk, CommandAsk, Elicitation, OwnToolAsk, RpcRefusal, UserInputAsk } from './wire.ts'

/** The asks to use, and the listeners to notify. */
export interface CodexGateCallbacks {
  asks: CheckedAsks
  cwd: string
  /** The only tools of the session; undefined when it has all. */
  tools: string[] | undefined
  disallowedTools: string[]
  ownTools: readonly string[]
  /** Whether the model wants this call to run outside of the sandbox. */
  isUnsandboxed(callId: string, signal: AbortSignal): Promise<boolean>
  /** Whether this is our conversation: asks of any other are refused. */
  isOurs(threadId: string): boolean
  /** Aborts when the turn is stopped, and when the session closes. */
  turn(): AbortSignal
  /** How long a call is kept waiting for others that run at the same time. */
  holdMs: number
  /** The turn stops as soon as the running calls are done: no new call begins. */
  isStopping(): boolean
  called(callId: string, call: CodexNamedCall): void
  asked(ask: AskRecord): void
  questioned(question: Question): void
  /** A call was refused. Resolves when the model is sure to see the reason. */
  refused(callId: string, call: CodexNamedCall, reason: string): Promise<void>
  /** A call or a question waits for a person: this turn ends. */
  parked(what: { callId: string; tool: string }): void
}

type Decision = 'accept' | 'decline' | 'cancel'

/**
 * The only way for a call of Codex to be allowed. Permission is given for this one call, because Codex does not ask again about what is
 * allowed for the session or by a rule. An ask that cannot be understood is refused, and so is every ask of a conversation that is not ours.
 */
export class CodexGate {
  readonly #callbacks: CodexGateCallbacks
  readonly #calls: CodexCalls

  constructor(callbacks: CodexGateCallbacks, calls: CodexCalls) {
    this.#callbacks = callbacks
    this.#calls = calls
  }

  /** Answers a request of Codex. */
  async answer(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const stop = AbortSignal.any([signal, this.#callbacks.turn()])
    switch (method) {
      case 'item/commandExecution/requestApproval':
        return { decision: await this.#command(params, stop) }
      case 'item/fileChange/requestApproval':
        return { decision: await this.#change(params, stop) }
      case 'mcpServer/elicitation/request':
        return this.#elicitation(params, stop)
      case 'item/tool/requestUserInput':
        return this.#question(params, stop)
      case 'item/tool/call':
        return this.#ownTool(params, stop)
      // More rights for future calls that nobody has seen yet are never given.
      case 'item/permissions/requestApproval':
        return { permissions: {}, scope: 'turn' }
      // The requests of old versions do not contain enough to be judged.
      case 'applyPatchApproval':
      case 'execCommandApproval':
        return { decision: 'denied' }
      default:
        throw new RpcRefusal(`PerpetualCC does not do ${method}`)
    }
  }

  async #command(params: unknown, stop: AbortSignal): Promise<Decision> {
    const ask = CommandAsk.safeParse(params).data
    if (!ask || !this.#callbacks.isOurs(ask.threadId)) return 'decline'
    // A command with a reason wants more than the sandbox gives: a plain command comes without one.
    const isUnfenced = Boolean(ask.reason) || (await this.#callbacks.isUnsandboxed(ask.itemId, stop))
    const { cwd } = ask
    const named = nameCommand(ask, { isUnfenced })
    const readsOnly = isReadingCommand(ask) && !isUnfenced
    return this.#decide({ callId: ask.itemId, calls: [named], stop, readsOnly, ...(cwd && { cwd }) })
  }

  async #change(params: unknown, stop: AbortSignal): Promise<Decision> {
    const ask = ChangeAsk.safeParse(params).data
    if (!ask || !this.#callbacks.isOurs(ask.threadId)) return 'decline'
    // The changes were reported before. A patch whose changes are unknown, or that wants a folder for good, is refused.
    const changes = this.#calls.item(ask.itemId)?.changes ?? []
    if (changes.length === 0 || ask.grantRoot) return 'decline'
    return this.#decide({ callId: ask.itemId, calls: nameChanges(changes), stop })
  }

  async #elicitation(params: unknown, stop: AbortSignal) {
    const declined = { action: 'decline', content: null, _meta: null }
    const ask = Elicitation.safeParse(params).data
    if (!ask || !this.#callbacks.isOurs(ask.threadId) || ask._meta?.codex_approval_kind !== 'mcp_tool_call')
      return declined
    const wanted = JSON.stringify(ask._meta.tool_params ?? {})
    const item = this.#calls.ofServer(
      ask.serverName,
      call => ask.message.includes(`"${call.tool}"`) && JSON.stringify(call.arguments ?? {}) === wanted,
    )
    if (!item) return declined
    const input = structuredClone(ask._meta.tool_params ?? {}) as Record<string, unknown>
    const named = { tool: `mcp__${ask.serverName}__${item.tool}`, input }
    const decision = await this.#decide({ callId: item.id, calls: [named], stop })
    return decision === 'accept' ? { action: 'accept', content: {}, _meta: null } : declined
  }

  async #question(params: unknown, stop: AbortSignal) {
    const ask = UserInputAsk.safeParse(params).data
    if (!ask || !this.#callbacks.isOurs(ask.threadId) || stop.aborted) return { answers: {} }
    const reply = await this.#ask(readQuestion(ask), stop)
    return toCodexAnswers(ask, reply)
  }

  async #ownTool(params: unknown, stop: AbortSignal) {
    const ask = OwnToolAsk.safeParse(params).data
    const name = AgentToolName.safeParse(ask?.tool).data
    const isGiven = name !== undefined && this.#callbacks.ownTools.includes(name) && ask?.namespace === OWN_SERVER
    if (!ask || !isGiven || !this.#callbacks.isOurs(ask.threadId))
      return toToolResult(false, 'There is no such tool here.')
    const named = { tool: toolCallName(name), input: ask.arguments }
    if (name === 'ask_human') {
      const question = readHumanQuestion(ask.callId, ask.arguments)
      if (!question) return toToolResult(false, 'The question could not be read. Ask it in another form.')
      this.#callbacks.called(ask.callId, named)
      this.#calls.allow(ask.callId)
      const reply = await this.#ask(question, stop)
      return 'answers' in reply
        ? toToolResult(true, [Object.values(reply.answers)].flat(2).join(', '))
        : toToolResult(false, explainNoAnswer(reply))
    }
    const decision = await this.#decide({ callId: ask.callId, calls: [named], stop, own: true })
    if (decision !== 'accept') return toToolResult(false, 'It was refused.')
    const { ok, text } = await this.#callbacks.asks.tool(name, structuredClone(ask.arguments), stop)
    return toToolResult(ok, text)
  }

  async #ask(question: Question, stop: AbortSignal): Promise<Answer | Park> {
    this.#callbacks.questioned(question)
    const reply = await this.#callbacks.asks.question(structuredClone(question), stop)
    this.#callbacks.asked({ kind: 'question', request: question, reply })
    if ('park' in reply && !stop.aborted) this.#callbacks.parked({ callId: question.callId, tool: 'AskUserQuestion' })
    return reply
  }

  /** Decides one call of Codex, which may be several of ours; all must be allowed. */
  async #decide({
    callId,
    calls,
    stop,
    readsOnly = false,
    cwd = this.#callbacks.cwd,
    own = false,
  }: {
    callId: string
    calls: CodexNamedCall[]
    stop: AbortSignal
    readsOnly?: boolean
    cwd?: string
    own?: boolean
  }): Promise<Decision> {
    const [first] = calls
    if (stop.aborted || !first) return 'cancel'
    // Held back: an answer now would end the calls that run at the same time.
    if (this.#callbacks.isStopping()) return holdUntilStopped(stop, this.#callbacks.holdMs)
    this.#callbacks.called(callId, first)
    for (const call of calls) {
      const withheld = own ? undefined : explainToolDenied(call.tool, { ...this.#callbacks, readsOnly })
      const request: Request = { callId, ...structuredClone(call), cwd, ...(own && { own: true as const }) }
      const reply = withheld === undefined ? await this.#judge(request, stop) : { reason: withheld }
      if (reply === 'parked') return holdUntilStopped(stop, this.#callbacks.holdMs)
      if (stop.aborted) return 'cancel'
      if (reply === 'allow') continue
      await this.#callbacks.refused(callId, call, reply.reason)
      return 'decline'
    }
    this.#calls.allow(callId)
    return 'accept'
  }

  async #judge(request: Request, stop: AbortSignal): Promise<'allow' | 'parked' | { reason: string }> {
    const reply = await this.#callbacks.asks.permission(structuredClone(request), stop)
    this.#callbacks.asked({ kind: 'permission', request, reply })
    if (!('park' in reply)) return reply.verdict === 'allow' ? 'allow' : { reason: reply.reason }
    if (!stop.aborted) this.#callbacks.parked({ callId: request.callId, tool: request.tool })
    return 'parked'
  }
}

/**
 * Keeps Codex waiting until the turn is stopped. Seen with 0.166.0, about once in sixty times: a call that was allowed does not begin while
 * another ask is open. So after a while this call is refused, and the calls that run at the same time can finish.
 */
async function holdUntilStopped(signal: AbortSignal, heldMs: number): Promise<Decision> {
  await sleep(heldMs, undefined, { signal }).catch(() => undefined)
  return signal.aborted ? 'cancel' : 'decline'
}

function toToolResult(success: boolean, text: string) {
  return { contentItems: [{ type: 'inputText', text }], success }
}

/** A question of Codex in our own form. Codex has no questions with several answers. */
function readQuestion({ itemId, questions }: UserInputAsk): Question {
  return {
    callId: itemId,
    questions: questions.map(({ question, header, options }) => ({
      question,
      header,
      multiSelect: false,
      options: (options ?? []).map(({ label, description }) => ({ label, description })),
    })),
  }
}

/** The answers in Codex's form, by the ids of its questions. The reason for a missing answer is sent as an answer too, so that the model sees it. */
function toCodexAnswers({ questions }: UserInputAsk, reply: Answer | Park) {
  const entries = questions.map(({ id, question }) => {
    const answer = 'answers' in reply ? reply.answers[question] : undefined
    return [id, { answers: answer === undefined ? [explainNoAnswer(reply)] : [answer].flat() }]
  })
  return { answers: Object.fromEntries(entries) }
}
