import { setTimeout as sleep } from 'node:timers/promises'
import { AgentToolName, OWN_SERVER, toolCallName } from '../../domain/agent-tools.ts'
import type { Answer, Park, Question, Request } from '../../domain/session.ts'
import type { CheckedAsks } from '../checked-asks.ts'
import { explainNoAnswer, readHumanQuestion } from '../own-tools.ts'
import type { AskRecord } from '../session-output.ts'
import { type CodexCalls, type CodexNamedCall, nameChanges, nameCommand } from './calls.ts'
import { explainToolDenied, isReadingCommand } from './policy.ts'
import { ChangeAsk, CommandAsk, Elicitation, OwnToolAsk, RpcRefusal, UserInputAsk } from './wire.ts'

/** Who is asked, and who hears of it. */
export interface CodexGateCallbacks {
  asks: CheckedAsks
  cwd: string
  /** All the tools of the session, where it is not given every one. */
  tools: string[] | undefined
  disallowedTools: string[]
  ownTools: readonly string[]
  /** Whether the model wants this call to run outside of the sandbox. */
  isUnfenced(callId: string, signal: AbortSignal): Promise<boolean>
  /** Whether this is our conversation: nobody answers for another. */
  isOurs(threadId: string): boolean
  /** Aborts when the turn is stopped, and when the session closes. */
  turn(): AbortSignal
  /** How long a call is kept waiting for others that run beside it. */
  heldMs: number
  /** The turn is stopped as soon as what runs is done: nothing new begins. */
  isStopping(): boolean
  called(callId: string, call: CodexNamedCall): void
  asked(ask: AskRecord): void
  questioned(question: Question): void
  /** A call was refused. Resolves when the model is sure to hear why. */
  refused(callId: string, call: CodexNamedCall, reason: string): Promise<void>
  /** A call, or a question, waits for a person: this turn ends. */
  parked(what: { callId: string; tool: string }): void
}

type Decision = 'accept' | 'decline' | 'cancel'

/**
 * The one way by which a call of Codex's gets our yes. It is given for this one call: what is allowed for the session, or by a rule, is not
 * asked again. Whatever cannot be understood is refused, and so is everything of a conversation that is not ours.
 */
export class CodexGate {
  readonly #keeper: CodexGateCallbacks
  readonly #calls: CodexCalls

  constructor(keeper: CodexGateCallbacks, calls: CodexCalls) {
    this.#keeper = keeper
    this.#calls = calls
  }

  /** Answers what Codex asks. */
  async answer(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const stop = AbortSignal.any([signal, this.#keeper.turn()])
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
      // More rights for calls to come, which nobody has seen yet: never.
      case 'item/permissions/requestApproval':
        return { permissions: {}, scope: 'turn' }
      // The forms of old versions: they do not tell enough.
      case 'applyPatchApproval':
      case 'execCommandApproval':
        return { decision: 'denied' }
      default:
        throw new RpcRefusal(`PerpetualCC does not do ${method}`)
    }
  }

  async #command(params: unknown, stop: AbortSignal): Promise<Decision> {
    const ask = CommandAsk.safeParse(params).data
    if (!ask || !this.#keeper.isOurs(ask.threadId)) return 'decline'
    // Who says why wants more than the sandbox gives: a plain command comes without a reason.
    const isUnfenced = Boolean(ask.reason) || (await this.#keeper.isUnfenced(ask.itemId, stop))
    const { cwd } = ask
    const named = nameCommand(ask, { isUnfenced })
    const readsOnly = isReadingCommand(ask) && !isUnfenced
    return this.#decide({ callId: ask.itemId, calls: [named], stop, readsOnly, ...(cwd && { cwd }) })
  }

  async #change(params: unknown, stop: AbortSignal): Promise<Decision> {
    const ask = ChangeAsk.safeParse(params).data
    if (!ask || !this.#keeper.isOurs(ask.threadId)) return 'decline'
    // What it changes was told before; a patch of which nobody knows what it does, or that wants a folder for good, is refused.
    const changes = this.#calls.item(ask.itemId)?.changes ?? []
    if (changes.length === 0 || ask.grantRoot) return 'decline'
    return this.#decide({ callId: ask.itemId, calls: nameChanges(changes), stop })
  }

  async #elicitation(params: unknown, stop: AbortSignal) {
    const no = { action: 'decline', content: null, _meta: null }
    const ask = Elicitation.safeParse(params).data
    if (!ask || !this.#keeper.isOurs(ask.threadId) || ask._meta?.codex_approval_kind !== 'mcp_tool_call') return no
    const wanted = JSON.stringify(ask._meta.tool_params ?? {})
    const item = this.#calls.ofServer(
      ask.serverName,
      one => ask.message.includes(`"${one.tool}"`) && JSON.stringify(one.arguments ?? {}) === wanted,
    )
    if (!item) return no
    const input = structuredClone(ask._meta.tool_params ?? {}) as Record<string, unknown>
    const named = { tool: `mcp__${ask.serverName}__${item.tool}`, input }
    const decision = await this.#decide({ callId: item.id, calls: [named], stop })
    return decision === 'accept' ? { action: 'accept', content: {}, _meta: null } : no
  }

  async #question(params: unknown, stop: AbortSignal) {
    const ask = UserInputAsk.safeParse(params).data
    if (!ask || !this.#keeper.isOurs(ask.threadId) || stop.aborted) return { answers: {} }
    const reply = await this.#ask(readQuestion(ask), stop)
    return toCodexAnswers(ask, reply)
  }

  async #ownTool(params: unknown, stop: AbortSignal) {
    const ask = OwnToolAsk.safeParse(params).data
    const name = AgentToolName.safeParse(ask?.tool).data
    const isGiven = name !== undefined && this.#keeper.ownTools.includes(name) && ask?.namespace === OWN_SERVER
    if (!ask || !isGiven || !this.#keeper.isOurs(ask.threadId)) return said(false, 'There is no such tool here.')
    const named = { tool: toolCallName(name), input: ask.arguments }
    if (name === 'ask_human') {
      const question = readHumanQuestion(ask.callId, ask.arguments)
      if (!question) return said(false, 'The question could not be read. Ask it in another form.')
      this.#keeper.called(ask.callId, named)
      this.#calls.allow(ask.callId)
      const reply = await this.#ask(question, stop)
      return 'answers' in reply
        ? said(true, [Object.values(reply.answers)].flat(2).join(', '))
        : said(false, explainNoAnswer(reply))
    }
    const decision = await this.#decide({ callId: ask.callId, calls: [named], stop, own: true })
    if (decision !== 'accept') return said(false, 'It was refused.')
    const { ok, text } = await this.#keeper.asks.tool(name, structuredClone(ask.arguments), stop)
    return said(ok, text)
  }

  async #ask(question: Question, stop: AbortSignal): Promise<Answer | Park> {
    this.#keeper.questioned(question)
    const reply = await this.#keeper.asks.question(structuredClone(question), stop)
    this.#keeper.asked({ kind: 'question', request: question, reply })
    if ('park' in reply && !stop.aborted) this.#keeper.parked({ callId: question.callId, tool: 'AskUserQuestion' })
    return reply
  }

  /** One call of Codex's may be several of ours; all must be allowed. */
  async #decide({
    callId,
    calls,
    stop,
    readsOnly = false,
    cwd = this.#keeper.cwd,
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
    // Answered before, it would take the calls beside it along.
    if (this.#keeper.isStopping()) return holdUntilStopped(stop, this.#keeper.heldMs)
    this.#keeper.called(callId, first)
    for (const call of calls) {
      const withheld = own ? undefined : explainToolDenied(call.tool, { ...this.#keeper, readsOnly })
      const request: Request = { callId, ...structuredClone(call), cwd, ...(own && { own: true as const }) }
      const reply = withheld === undefined ? await this.#judge(request, stop) : { reason: withheld }
      if (reply === 'parked') return holdUntilStopped(stop, this.#keeper.heldMs)
      if (stop.aborted) return 'cancel'
      if (reply === 'allow') continue
      await this.#keeper.refused(callId, call, reply.reason)
      return 'decline'
    }
    this.#calls.allow(callId)
    return 'accept'
  }

  async #judge(request: Request, stop: AbortSignal): Promise<'allow' | 'parked' | { reason: string }> {
    const reply = await this.#keeper.asks.permission(structuredClone(request), stop)
    this.#keeper.asked({ kind: 'permission', request, reply })
    if (!('park' in reply)) return reply.verdict === 'allow' ? 'allow' : { reason: reply.reason }
    if (!stop.aborted) this.#keeper.parked({ callId: request.callId, tool: request.tool })
    return 'parked'
  }
}

/**
 * Keeps Codex waiting until the turn is stopped. Seen with 0.166.0, once in some sixty times: a call that was allowed does not begin while
 * another is being asked about. So after a while this one is refused, and what runs beside it comes to its end.
 */
async function holdUntilStopped(signal: AbortSignal, heldMs: number): Promise<Decision> {
  await sleep(heldMs, undefined, { signal }).catch(() => undefined)
  return signal.aborted ? 'cancel' : 'decline'
}

function said(success: boolean, text: string) {
  return { contentItems: [{ type: 'inputText', text }], success }
}

/** What Codex asks a person, in our own words. It knows no question with several answers. */
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

/** The answers as Codex wants them, by the ids of its questions. Why there is none is an answer too: the model must hear it. */
function toCodexAnswers({ questions }: UserInputAsk, reply: Answer | Park) {
  const entries = questions.map(({ id, question }) => {
    const given = 'answers' in reply ? reply.answers[question] : undefined
    return [id, { answers: given === undefined ? [explainNoAnswer(reply)] : [given].flat() }]
  })
  return { answers: Object.fromEntries(entries) }
}
