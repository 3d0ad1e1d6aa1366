import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { type FaultEndings, type LocateResult, locate, type ScenarioStep, unmetKeys } from './locate.ts'
import { type LoggedRequest, type RequestLog, withoutSecrets } from './request-log.ts'
import type { Scenario, ScriptedToolCall, ScriptedTurn, ToolNames } from './scenario.ts'
import { sendJson, sendStream, sendWhole } from './wires/send.ts'
import {
  type Dialogue,
  type FaultReply,
  firstPrompt,
  newId,
  replyToFault,
  tokensIn,
  type Wire,
  type WireName,
  type WireRequest,
} from './wires/wire.ts'

export interface Exchange {
  wire: Wire
  incoming: IncomingMessage
  response: ServerResponse
  request: WireRequest
  bytes: number
  signal: AbortSignal
}

export interface SimulatorContext {
  scenario: Scenario
  clock: Clock
  endings: FaultEndings
  log: RequestLog
}

/** Answers one request from the scenario. The request is logged before the first byte of the answer is sent. */
export async function answerRequest(exchange: Exchange, context: SimulatorContext): Promise<void> {
  const { dialogue } = exchange.request
  const session = sessionOf(exchange)
  const located = locate(context.scenario, dialogue, ({ turn, ...step }) =>
    context.endings.isOver({ ...step, turn: fillTemplate(turn, dialogue) }, session),
  )
  const entry = describe(exchange, { session, located, now: context.clock.now() })
  if (located.found !== 'step')
    return refuse(exchange, context, { ...entry, response: located.found, status: 400 }, located)
  return serve(exchange, context, entry, located.step)
}

/** Answers a request for a token count. */
export function answerTokenCount(exchange: Exchange, context: SimulatorContext): void {
  const { wire, response, bytes } = exchange
  const located: LocateResult = { found: 'unmatched', problem: '' }
  const entry = describe(exchange, { session: sessionOf(exchange), located, now: context.clock.now() })
  context.log.add({ ...entry, response: 'tokens' })
  sendJson(response, { status: 200, headers: { [wire.idHeader]: entry.id }, body: wire.count(tokensIn(bytes)) })
}

function serve(
  exchange: Exchange,
  context: SimulatorContext,
  entry: LoggedRequest,
  step: ScenarioStep,
): Promise<void> | void {
  const { wire, response, request, bytes, signal } = exchange
  const { dialogue } = request
  const turn = fillTemplate({ ...context.scenario.defaults, ...step.turn }, dialogue)
  const fault = turn.fault && replyToFault(turn.fault)
  const error =
    fault?.shows === 'error' ? wire.failure(fault.fault, { model: dialogue.model, now: entry.time }) : undefined
  const unexpected = turn.expect ? unmetKeys(turn.expect, dialogue, dialogue.entries) : []
  if (turn.fault) context.endings.shown(step, entry.session)
  context.log.add({ ...entry, response: turn.fault?.kind ?? 'answer', status: error?.status ?? 200, unexpected })
  const windows = turn.rate_limits ? wire.windows(turn.rate_limits, entry.time) : {}
  const headers = { [wire.idHeader]: entry.id, ...windows, ...turn.headers }
  if (error) return sendJson(response, { ...error, headers: { ...headers, ...error.headers } })
  const answered = fault ? withFault(turn, fault) : turn
  const { tools: names } = context.scenario
  const tools = toolsFor(answered.tools, { names, wire: wire.name, offered: dialogue.tools })
  const answer = { turn: { ...answered, tools }, request, bytes }
  const latency = turn.latency ?? { first_ms: 0, delta_ms: 0 }
  const send = request.stream ? sendStream : sendWhole
  return send(answer, { wire, response, headers, latency, signal, flaw: fault?.shows === 'flaw' ? fault : undefined })
}

/** A fault in mid-answer needs an answer to break off; a turn without one gets this text. */
function withFault(turn: ScriptedTurn, fault: FaultReply): ScriptedTurn {
  if (fault.shows === 'nothing') return { usage: turn.usage, stop_reason: fault.stop_reason }
  return turn.text || turn.tools || turn.thinking ? turn : { ...turn, text: 'This answer breaks off.' }
}

function refuse(
  exchange: Exchange,
  context: SimulatorContext,
  entry: LoggedRequest,
  { problem }: { problem: string },
): void {
  const { wire, response } = exchange
  context.log.add(entry)
  sendJson(response, {
    status: entry.status,
    headers: { [wire.idHeader]: entry.id, 'x-should-retry': 'false' },
    body: wire.refusal(entry.status, `Simulator: ${problem}`),
  })
}

function describe(
  { incoming, request, bytes }: Exchange,
  { session, located, now }: { session: string; located: LocateResult; now: number },
): LoggedRequest {
  const { dialogue } = request
  const { entries } = dialogue
  const fresh = entries.slice(entries.findLastIndex(entry => entry.kind === 'reply') + 1)
  const results = fresh.filter(entry => entry.kind === 'tool_result')
  return {
    id: newId('req'),
    time: now,
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: withoutSecrets(incoming.headers),
    session,
    model: dialogue.model,
    stream: request.stream,
    bytes,
    first_prompt: firstPrompt(dialogue),
    prompt: entries.findLast(entry => entry.kind === 'prompt')?.text ?? '',
    tool_results: results.map(({ text, failed }) => ({ text, failed })),
    conversation: conversationOf(located),
    turn: located.found === 'step' ? located.step.place : null,
    response: 'answer',
    status: 200,
    unexpected: [],
    body: request.body,
  }
}

function conversationOf(located: LocateResult): string | null {
  if (located.found === 'step') return located.step.conversation
  return located.found === 'exhausted' ? located.conversation : null
}

/** The headers in which Claude Code and Codex name their session. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id']

/** Agents name their session in a header; other clients put it, or a user, into the body. */
function sessionOf({ incoming, request }: Exchange): string {
  const named = SESSION_HEADERS.map(name => incoming.headers[name]).find(value => typeof value === 'string' && value)
  return typeof named === 'string' ? named : request.session
}

/** Replaces `{{cwd}}`, `{{prompt}}`, `{{first_prompt}}`, `{{last_tool_result}}` and `{{model}}` by values of the request. Other braces stay. */
function fillTemplate<Value>(value: Value, dialogue: Dialogue): Value {
  const names = new Map<string, () => string>(
    Object.entries({
      cwd: () => dialogue.cwd,
      model: () => dialogue.model,
      first_prompt: () => firstPrompt(dialogue),
      prompt: () => latest(dialogue, 'prompt'),
      last_tool_result: () => latest(dialogue, 'tool_result'),
    }),
  )
  return fill(value, names) as Value
}

function fill(value: unknown, names: Map<string, () => string>): unknown {
  if (typeof value === 'string')
    return value.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => names.get(name)?.() ?? whole)
  if (Array.isArray(value)) return value.map(item => fill(item, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, names)]))
}

function latest(dialogue: Dialogue, kind: 'prompt' | 'tool_result'): string {
  return dialogue.entries.findLast(entry => entry.kind === kind)?.text ?? ''
}

interface WireTools {
  names: ToolNames | undefined
  wire: WireName
  /** The tools that the agent offers. */
  offered: readonly string[]
}

/** The tool calls of a turn with the names of the agent on this wire, if the scenario gives them. */
function toolsFor(
  tools: ScriptedToolCall[] | undefined,
  { names, wire, offered }: WireTools,
): ScriptedToolCall[] | undefined {
  return tools?.map(call => {
    const onWire = names?.[call.name]?.[wire]
    if (!onWire) return { ...call, name: resolveName(offered, call.name) }
    return {
      name: resolveName(offered, onWire.name),
      input: onWire.input ? (fillInput(onWire.input, call.input) as ScriptedToolCall['input']) : call.input,
    }
  })
}

/** Resolves a name with `*` to the first offered tool that fits; without one, the name without `*` is used. */
function resolveName(offered: readonly string[], name: string): string {
  if (!name.includes('*')) return name
  const form = new RegExp(`^${name.replaceAll('*', '.*')}$`)
  return offered.find(tool => form.test(tool)) ?? name.replaceAll('*', '')
}

const WHOLE = /^\{\{input\.(\w+)\}\}$/
const PART = /\{\{input\.(\w+)\}\}/g

/** Replaces `{{input.command}}` by the value of the call's own input; a placeholder alone keeps the value's type. */
function fillInput(form: unknown, input: Record<string, unknown>): unknown {
  if (typeof form === 'string') {
    const whole = WHOLE.exec(form)
    if (whole) return input[whole[1] ?? '']
    return form.replace(PART, (_, key: string) => String(input[key] ?? ''))
  }
  if (Array.isArray(form)) return form.map(item => fillInput(item, input))
  if (typeof form !== 'object' || form === null) return form
  return Object.fromEntries(Object.entries(form).map(([key, item]) => [key, fillInput(item, input)]))
}
