import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { unmet } from './conditions.ts'
import type { FaultEndings } from './fault-endings.ts'
import { type Located, locate, type Step } from './locate.ts'
import { type LoggedRequest, type RequestLog, withoutSecrets } from './request-log.ts'
import type { Scenario, Turn } from './scenario/schema.ts'
import { fillTemplate } from './template.ts'
import { type FaultReply, faultReply } from './wire/fault.ts'
import { rateLimitHeaders } from './wire/limit-headers.ts'
import { messageFor, newId, tokensIn } from './wire/message.ts'
import { type Dialogue, firstPrompt, type MessagesRequest, readDialogue } from './wire/request.ts'
import { errorBody, sendJson, sendStream, sendWhole } from './wire/send.ts'

export interface Exchange {
  incoming: IncomingMessage
  response: ServerResponse
  request: MessagesRequest
  bytes: number
  signal: AbortSignal
}

export interface Desk {
  scenario: Scenario
  clock: Clock
  endings: FaultEndings
  log: RequestLog
}

/** Answers one Messages request from the scenario; the log has the request before the first byte of the answer leaves. */
export async function answerMessages(exchange: Exchange, desk: Desk): Promise<void> {
  const { incoming, request } = exchange
  const dialogue = readDialogue(request)
  const session = sessionOf(incoming, request)
  const located = locate(desk.scenario, dialogue, ({ turn, ...step }) =>
    desk.endings.isOver({ ...step, turn: fillTemplate(turn, dialogue) }, session),
  )
  const entry = describe(exchange, { dialogue, session, located, now: desk.clock.now() })
  if (located.found !== 'step')
    return refuse(exchange, desk, { ...entry, response: located.found, status: 400 }, located)
  return serve(exchange, desk, entry, { dialogue, step: located.step })
}

/** Answers how many tokens a request would have. */
export function answerCount(exchange: Exchange, desk: Desk): void {
  const dialogue = readDialogue(exchange.request)
  const session = sessionOf(exchange.incoming, exchange.request)
  const located: Located = { found: 'unmatched', problem: '' }
  const entry = describe(exchange, { dialogue, session, located, now: desk.clock.now() })
  desk.log.add({ ...entry, response: 'tokens' })
  sendJson(exchange.response, {
    status: 200,
    headers: { 'request-id': entry.id },
    body: { input_tokens: tokensIn(exchange.bytes) },
  })
}

function serve(
  exchange: Exchange,
  desk: Desk,
  entry: LoggedRequest,
  { dialogue, step }: { dialogue: Dialogue; step: Step },
): Promise<void> | void {
  const { response, request, bytes, signal } = exchange
  const turn = fillTemplate({ ...desk.scenario.defaults, ...step.turn }, dialogue)
  const fault = turn.fault && faultReply(turn.fault, request.model, entry.time)
  const unexpected = turn.expect ? unmet(turn.expect, dialogue, dialogue.entries) : []
  if (turn.fault) desk.endings.shown(step, entry.session)
  const status = fault?.shows === 'error' ? fault.status : 200
  desk.log.add({ ...entry, response: turn.fault?.kind ?? 'answer', status, unexpected })
  const headers = { 'request-id': entry.id, ...limitsOf(turn, entry.time), ...turn.headers }
  if (fault?.shows === 'error') {
    return sendJson(response, {
      status,
      headers: { ...headers, ...fault.headers },
      body: errorBody(fault.type, fault.message),
    })
  }
  const message = messageFor(fault ? spoiled(turn, fault) : turn, request.model, bytes)
  const latency = turn.latency ?? { first_ms: 0, delta_ms: 0 }
  const send = request.stream ? sendStream : sendWhole
  return send(message, { response, headers, latency, signal, flaw: fault?.shows === 'flaw' ? fault : undefined })
}

/** A fault in mid-answer needs an answer to break off; without one of its own it gets this. */
function spoiled(turn: Turn, fault: FaultReply): Turn {
  if (fault.shows === 'nothing') return { usage: turn.usage, stop_reason: fault.stop_reason }
  return turn.text || turn.tools || turn.thinking ? turn : { ...turn, text: 'This answer does not come to its end.' }
}

function limitsOf(turn: Turn, now: number): Record<string, string> {
  return turn.rate_limits ? rateLimitHeaders(turn.rate_limits, now) : {}
}

function refuse(exchange: Exchange, desk: Desk, entry: LoggedRequest, { problem }: { problem: string }): void {
  desk.log.add(entry)
  sendJson(exchange.response, {
    status: entry.status,
    headers: { 'request-id': entry.id, 'x-should-retry': 'false' },
    body: errorBody('invalid_request_error', `Simulator: ${problem}`),
  })
}

function describe(
  { incoming, request }: Exchange,
  { dialogue, session, located, now }: { dialogue: Dialogue; session: string; located: Located; now: number },
): LoggedRequest {
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
    model: request.model,
    stream: request.stream ?? false,
    first_prompt: firstPrompt(dialogue),
    prompt: entries.findLast(entry => entry.kind === 'prompt')?.text ?? '',
    tool_results: results.map(({ text, failed }) => ({ text, failed })),
    conversation: conversationOf(located),
    turn: located.found === 'step' ? located.step.place : null,
    response: 'answer',
    status: 200,
    unexpected: [],
    body: { system: request.system, messages: request.messages, tools: dialogue.tools },
  }
}

function conversationOf(located: Located): string | null {
  if (located.found === 'step') return located.step.conversation
  return located.found === 'exhausted' ? located.conversation : null
}

/** Claude Code names its session in a header; other clients name a user. */
function sessionOf(incoming: IncomingMessage, request: MessagesRequest): string {
  const header = incoming.headers['x-claude-code-session-id']
  return (typeof header === 'string' && header) || request.metadata?.user_id || ''
}
