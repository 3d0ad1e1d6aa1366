import type { Question, Request } from '../../../domain/session.ts'
import type { OwnTools, ToolKeeper } from '../../own-tools/own-tools.ts'
import type { CallBook } from '../messages/call-book.ts'
import { inputOf, type Named } from '../messages/request-of.ts'
import { subagentOf } from '../messages/translator.ts'
import { PermissionAsk, type ToolCall } from '../wire/schemas.ts'
import type { Asking } from './asking.ts'
import { Form, filledIn, questionsOf } from './elicitation.ts'
import { refused } from './refusals.ts'

/** Who is asked, and who hears of it. */
export interface GateKeeper extends ToolKeeper {
  /** A tool that this session is not given is refused without a question. */
  withheld(tool: string): string | undefined
  called(call: ToolCall, by: { agentId?: string }): void
  /** A call was refused: the model learns why, where the agent has a way for it. */
  refused(call: ToolCall, reason: string): void
  /** Why a question has no answer. */
  declined(reason: string): void
}

type Outcome = { outcome: { outcome: 'cancelled' } | { outcome: 'selected'; optionId: string } }

const CANCELLED: Outcome = { outcome: { outcome: 'cancelled' } }

/**
 * The one way by which a call of the agent's gets our yes. Only `allow_once` is ever chosen: what is allowed for ever is not
 * asked again. Whatever goes wrong is a refusal, and a refusal for which the agent offers no option is a cancel.
 */
export class AcpGate implements Asking {
  readonly #keeper: GateKeeper
  readonly #calls: CallBook
  readonly #own: OwnTools | undefined
  /** Writes that were allowed as a call and are then asked of us to be done, so that nobody is asked twice. */
  readonly #granted = new Set<string>()
  #asked = 0

  constructor(keeper: GateKeeper, calls: CallBook, own?: OwnTools) {
    this.#keeper = keeper
    this.#calls = calls
    this.#own = own
    own?.bind(keeper)
  }

  /** Answers `session/request_permission`. */
  async permission(params: unknown, signal: AbortSignal): Promise<Outcome> {
    const ask = PermissionAsk.safeParse(params).data
    if (!ask) return CANCELLED
    const stop = AbortSignal.any([signal, this.#keeper.turn()])
    if (stop.aborted) return CANCELLED
    const call = this.#calls.ask(ask.toolCall)
    const by = subagentOf(call._meta)
    if (this.#calls.isTooLarge(call.toolCallId)) {
      this.#keeper.refused(call, 'It is too large to be judged.')
      return refusalOf(ask)
    }
    if (this.#announced(call, by)) return this.#yes(ask)
    this.#keeper.called(call, by)
    for (const named of this.#calls.named(call)) {
      const verdict = await this.#judge({ callId: call.toolCallId, ...structuredClone(named), ...by }, stop)
      if (stop.aborted) return CANCELLED
      if (verdict === 'parked') return CANCELLED
      if (verdict !== 'allow') {
        this.#keeper.refused(call, verdict.reason)
        return refusalOf(ask)
      }
      if (named.tool === 'Write' || named.tool === 'Edit') this.#granted.add(String(named.input['file_path']))
    }
    return this.#yes(ask)
  }

  /** Answers `elicitation/create`. */
  async question(
    params: unknown,
    signal: AbortSignal,
  ): Promise<{ action: 'accept'; content: Record<string, unknown> } | { action: 'decline' | 'cancel' }> {
    const form = Form.safeParse(params).data
    const stop = AbortSignal.any([signal, this.#keeper.turn()])
    // A page that a person would have to open: there is none.
    if (!form || stop.aborted) return { action: 'decline' }
    const fields = questionsOf(form)
    const [first] = fields
    if (!first) return { action: 'decline' }
    // Asked like this, the call that asks needs no other yes.
    if (form.toolCallId !== undefined) this.#calls.allow(form.toolCallId)
    const question: Question = { callId: form.toolCallId ?? this.#ownId(), questions: fields.map(field => field.item) }
    this.#keeper.questioned(question)
    const reply = await this.#keeper.asks.question(structuredClone(question), stop)
    this.#keeper.asked({ kind: 'question', request: question, reply })
    if (stop.aborted) return { action: 'cancel' }
    if ('park' in reply) {
      this.#keeper.parked({ callId: question.callId, tool: 'AskUserQuestion' })
      return { action: 'cancel' }
    }
    if ('declined' in reply) this.#keeper.declined(reply.declined)
    return filledIn(form, fields, reply)
  }

  /** Asks about something that we do for the agent. */
  async may(call: Named, signal: AbortSignal, cwd?: string): Promise<void> {
    const stop = AbortSignal.any([signal, this.#keeper.turn()])
    if (stop.aborted) throw refused('It was called off.')
    if (call.tool === 'Write' && this.#granted.delete(String(call.input['file_path']))) return
    const verdict = await this.#judge({ callId: this.#ownId(), ...structuredClone(call), ...(cwd && { cwd }) }, stop)
    if (stop.aborted || verdict === 'parked') throw refused('It waits for a person, and this turn ends.')
    if (verdict !== 'allow') throw refused(verdict.reason)
  }

  /** What was granted counts for one turn. */
  forget(): void {
    this.#granted.clear()
    this.#own?.forget()
  }

  #yes(ask: PermissionAsk): Outcome {
    const once = ask.options.find(option => option.kind === 'allow_once')
    if (!once) return refusalOf(ask)
    this.#calls.allow(ask.toolCall.toolCallId)
    return { outcome: { outcome: 'selected', optionId: once.optionId } }
  }

  /** A call of a tool of ours may come: it is judged where it arrives. */
  #announced(call: ToolCall, by: { agentId?: string }): boolean {
    const name = this.#calls.own(call)
    if (name === undefined || !this.#own) return false
    this.#own.announced({ callId: call.toolCallId, name, input: inputOf(call), ...by })
    return true
  }

  async #judge(
    asked: Omit<Request, 'cwd'> & { cwd?: string },
    signal: AbortSignal,
  ): Promise<'allow' | 'parked' | { reason: string }> {
    const request: Request = { cwd: this.#keeper.cwd, ...asked }
    const withheld = this.#keeper.withheld(request.tool)
    if (withheld !== undefined) return { reason: withheld }
    const reply = await this.#keeper.asks.permission(structuredClone(request), signal)
    this.#keeper.asked({ kind: 'permission', request, reply })
    if (!('park' in reply)) return reply.verdict === 'allow' ? 'allow' : { reason: reply.reason }
    if (request.agentId !== undefined)
      return { reason: `Nobody can answer now (${reply.reason}). Go on without, and tell who called you.` }
    this.#keeper.parked({ callId: request.callId, tool: request.tool })
    return 'parked'
  }

  #ownId(): string {
    this.#asked++
    return `pcc-${this.#asked}`
  }
}

function refusalOf({ options }: PermissionAsk): Outcome {
  const option = options.find(one => one.kind === 'reject_once') ?? options.find(one => one.kind === 'reject_always')
  return option ? { outcome: { outcome: 'selected', optionId: option.optionId } } : CANCELLED
}
