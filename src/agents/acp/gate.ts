import { once } from 'node:events'
import { RequestError } from '@agentclientprotocol/sdk'
import * as z from 'zod'
import type { Answer, Question, QuestionItem, Request } from '../../domain/session.ts'
import type { OwnTools, OwnToolsCallbacks } from '../own-tools.ts'
import type { AcpCalls } from './calls.ts'
import { type AcpNamedCall, readInput } from './tool-names.ts'
import { readSubagent } from './translator.ts'
import { type AcpToolCall, PermissionAsk } from './wire.ts'

/** Asks about calls that we make for an agent, like about the agent's own. */
export interface CallApprover {
  /** Resolves when the call is allowed in `cwd` (by default the session's folder); rejects with the reason otherwise. */
  approve(call: AcpNamedCall, signal: AbortSignal, cwd?: string): Promise<void>
}

/** The asks to use, and the listeners to notify. */
export interface AcpGateCallbacks extends OwnToolsCallbacks {
  /** Why this session does not have a tool; such a tool is refused without an ask. */
  withheld(tool: string): string | undefined
  called(call: AcpToolCall, by: { agentId?: string }): void
  /** A call was refused: the model gets the reason, if the agent has a way for it. */
  refused(call: AcpToolCall, reason: string): void
  /** Why a question has no answer. */
  declined(reason: string): void
}

type Outcome = { outcome: { outcome: 'cancelled' } | { outcome: 'selected'; optionId: string } }

const CANCELLED: Outcome = { outcome: { outcome: 'cancelled' } }

/**
 * The only way for a call of the agent to be allowed. Only `allow_once` is ever chosen, because an agent does not ask again about
 * what is allowed for ever. Every failure is a refusal, and a refusal for which the agent offers no option is a cancel.
 */
export class AcpGate implements CallApprover {
  readonly #callbacks: AcpGateCallbacks
  readonly #calls: AcpCalls
  readonly #own: OwnTools | undefined
  /** Writes that were allowed as a call and that the agent then requests from us, so that nobody is asked twice. */
  readonly #granted = new Set<string>()
  #asked = 0

  constructor(callbacks: AcpGateCallbacks, calls: AcpCalls, own?: OwnTools) {
    this.#callbacks = callbacks
    this.#calls = calls
    this.#own = own
    own?.bind(callbacks)
  }

  /** Answers `session/request_permission`. */
  async permission(params: unknown, signal: AbortSignal): Promise<Outcome> {
    const ask = PermissionAsk.safeParse(params).data
    if (!ask) return CANCELLED
    const stop = AbortSignal.any([signal, this.#callbacks.turn()])
    if (stop.aborted) return CANCELLED
    const call = this.#calls.ask(ask.toolCall)
    const by = readSubagent(call._meta)
    if (this.#calls.isTooLarge(call.toolCallId)) {
      this.#callbacks.refused(call, 'It is too large to be judged.')
      return chooseRefusal(ask)
    }
    if (this.#announceOwn(call, by)) return this.#allow(ask)
    this.#callbacks.called(call, by)
    for (const named of this.#calls.named(call)) {
      const verdict = await this.#judge({ callId: call.toolCallId, ...structuredClone(named), ...by }, stop)
      if (stop.aborted) return CANCELLED
      if (verdict !== 'allow') {
        this.#callbacks.refused(call, verdict.reason)
        return chooseRefusal(ask)
      }
      if (named.tool === 'Write' || named.tool === 'Edit') this.#granted.add(String(named.input['file_path']))
    }
    return this.#allow(ask)
  }

  /** Answers `elicitation/create`. */
  async question(
    params: unknown,
    signal: AbortSignal,
  ): Promise<{ action: 'accept'; content: Record<string, unknown> } | { action: 'decline' | 'cancel' }> {
    const form = Form.safeParse(params).data
    const stop = AbortSignal.any([signal, this.#callbacks.turn()])
    // Anything else than a form, such as a page that a person would have to open, is declined.
    if (!form || stop.aborted) return { action: 'decline' }
    const fields = readQuestions(form)
    const [first] = fields
    if (!first) return { action: 'decline' }
    // The call that asks needs no other permission.
    if (form.toolCallId !== undefined) this.#calls.allow(form.toolCallId)
    const question: Question = { callId: form.toolCallId ?? this.#ownId(), questions: fields.map(field => field.item) }
    this.#callbacks.questioned(question)
    const reply = await this.#callbacks.asks.question(structuredClone(question), stop)
    this.#callbacks.asked({ kind: 'question', request: question, reply })
    if (stop.aborted) return { action: 'cancel' }
    if ('park' in reply) {
      this.#callbacks.parked({ callId: question.callId, tool: 'AskUserQuestion' })
      await untilAborted(stop)
      return { action: 'cancel' }
    }
    if ('declined' in reply) this.#callbacks.declined(reply.declined)
    return fillForm(form, fields, reply)
  }

  /** Asks about a call that we make for the agent. */
  async approve(call: AcpNamedCall, signal: AbortSignal, cwd?: string): Promise<void> {
    const stop = AbortSignal.any([signal, this.#callbacks.turn()])
    if (stop.aborted) throw refusedError('It was called off.')
    if (call.tool === 'Write' && this.#granted.delete(String(call.input['file_path']))) return
    const verdict = await this.#judge({ callId: this.#ownId(), ...structuredClone(call), ...(cwd && { cwd }) }, stop)
    if (verdict !== 'allow') throw refusedError(verdict.reason)
  }

  /** Grants count for one turn only. */
  forget(): void {
    this.#granted.clear()
    this.#own?.forget()
  }

  #allow(ask: PermissionAsk): Outcome {
    const once = ask.options.find(option => option.kind === 'allow_once')
    if (!once) return chooseRefusal(ask)
    this.#calls.allow(ask.toolCall.toolCallId)
    return { outcome: { outcome: 'selected', optionId: once.optionId } }
  }

  /** Lets a call of one of our own tools through: it is judged on arrival. */
  #announceOwn(call: AcpToolCall, by: { agentId?: string }): boolean {
    const name = this.#calls.own(call)
    if (name === undefined || !this.#own) return false
    this.#own.announced({ callId: call.toolCallId, name, input: readInput(call), ...by })
    return true
  }

  async #judge(
    call: Omit<Request, 'cwd'> & { cwd?: string },
    signal: AbortSignal,
  ): Promise<'allow' | { reason: string }> {
    const request: Request = { cwd: this.#callbacks.cwd, ...call }
    const withheld = this.#callbacks.withheld(request.tool)
    if (withheld !== undefined) return { reason: withheld }
    const reply = await this.#callbacks.asks.permission(structuredClone(request), signal)
    this.#callbacks.asked({ kind: 'permission', request, reply })
    if (!('park' in reply)) return reply.verdict === 'allow' ? 'allow' : { reason: reply.reason }
    if (request.agentId !== undefined)
      return { reason: `Nobody can answer now (${reply.reason}). Go on without, and tell who called you.` }
    this.#callbacks.parked({ callId: request.callId, tool: request.tool })
    // An answer before the end of the turn would let the agent go on without the call.
    await untilAborted(signal)
    return { reason: 'It waits for a person, and this turn ends.' }
  }

  #ownId(): string {
    this.#asked++
    return `pcc-${this.#asked}`
  }
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

function chooseRefusal({ options }: PermissionAsk): Outcome {
  const byKind = (kind: string) => options.find(option => option.kind === kind)
  const option = byKind('reject_once') ?? byKind('reject_always')
  return option ? { outcome: { outcome: 'selected', optionId: option.optionId } } : CANCELLED
}

const NOT_ALLOWED = -32001

/** A refusal, with the reason for the agent. */
export function refusedError(reason: string): RequestError {
  return new RequestError(NOT_ALLOWED, reason)
}

/** Parses the parameters of a request; malformed ones are an error of the protocol. */
export function parseParams<Shape extends z.ZodType>(shape: Shape, params: unknown): z.infer<Shape> {
  const result = shape.safeParse(params)
  if (!result.success) throw RequestError.invalidParams(undefined, result.error.issues[0]?.message ?? 'malformed')
  return result.data
}

const Choice = z.looseObject({ const: z.unknown(), title: z.string().optional(), description: z.string().optional() })
const Property = z.looseObject({
  type: z.string(),
  title: z.string().nullish(),
  description: z.string().nullish(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(Choice).optional(),
  items: z
    .looseObject({
      enum: z.array(z.string()).optional(),
      anyOf: z.array(Choice).optional(),
      oneOf: z.array(Choice).optional(),
    })
    .optional(),
})
type Property = z.infer<typeof Property>

/** A form that an agent wants filled in. */
export const Form = z.looseObject({
  mode: z.literal('form'),
  sessionId: z.string().optional(),
  toolCallId: z.string().optional(),
  message: z.string(),
  requestedSchema: z.looseObject({
    properties: z.record(z.string(), Property),
    required: z.array(z.string()).nullish(),
  }),
})
export type Form = z.infer<typeof Form>

interface Field {
  key: string
  property: Property
  item: QuestionItem
  choices: { label: string; description: string; value: unknown }[]
}

/** The fields of a form as questions. A field that only adds a note to another field is no question of its own. */
export function readQuestions(form: Form): Field[] {
  const { properties } = form.requestedSchema
  const fields = Object.entries(properties).filter(([key]) => !isNoteOf(key, properties))
  const isOnly = fields.length === 1
  return fields.map(([key, property]) => {
    const choices = choicesOf(property)
    const text = property.description || property.title || key
    return {
      key,
      property,
      choices,
      item: {
        question: isOnly ? form.message : text,
        header: property.title ?? '',
        multiSelect: property.type === 'array',
        options: choices.map(({ label, description }) => ({ label, description })),
      },
    }
  })
}

/** The form filled with the answer. A required field without an answer makes it a refusal. */
export function fillForm(
  form: Form,
  fields: Field[],
  answer: Answer,
): { action: 'accept'; content: Record<string, unknown> } | { action: 'decline' } {
  if ('declined' in answer) return { action: 'decline' }
  const content: Record<string, unknown> = {}
  for (const field of fields) {
    const given = answer.answers[field.item.question]
    if (given !== undefined) Object.assign(content, readValue(field, given, form.requestedSchema.properties))
  }
  const isWhole = (form.requestedSchema.required ?? []).every(key => key in content)
  return isWhole && Object.keys(content).length > 0 ? { action: 'accept', content } : { action: 'decline' }
}

function readValue(
  field: Field,
  given: string | string[],
  properties: Form['requestedSchema']['properties'],
): Record<string, unknown> {
  const { key, property, choices } = field
  const findChoice = (label: string) => choices.find(choice => choice.label === label)
  const labels = [given].flat()
  const note = noteKey(key)
  const others = labels.filter(label => !findChoice(label)).join(', ')
  // An answer that is not one of the choices goes into the form's field for free text.
  const free = choices.length > 0 && others && note in properties ? { [note]: others } : {}
  const chosen = labels.flatMap(label => findChoice(label)?.value ?? [])
  if (property.type === 'array') return { ...(chosen.length > 0 && { [key]: chosen }), ...free }
  if (choices.length > 0) return { ...(chosen.length > 0 && { [key]: chosen[0] }), ...free }
  const text = labels.join(', ')
  if (property.type === 'number' || property.type === 'integer')
    return Number.isNaN(Number(text)) ? {} : { [key]: Number(text) }
  return { [key]: text }
}

function choicesOf(property: Property): Field['choices'] {
  const { type, oneOf, items, enum: plain, enumNames } = property
  const listed = oneOf ?? items?.anyOf ?? items?.oneOf
  if (listed) {
    return listed.map(({ const: value, title, description = '' }) => ({
      label: title ?? String(value),
      description,
      value,
    }))
  }
  const names = plain ?? items?.enum
  if (names) return names.map((value, at) => ({ label: enumNames?.[at] ?? value, description: '', value }))
  if (type !== 'boolean') return []
  return [
    { label: 'yes', description: '', value: true },
    { label: 'no', description: '', value: false },
  ]
}

/** Claude's adapter adds a field for free text to every choice. */
function noteKey(key: string): string {
  return `${key}_custom`
}

function isNoteOf(key: string, properties: Record<string, Property>): boolean {
  return key.endsWith('_custom') && key.slice(0, -'_custom'.length) in properties
}
