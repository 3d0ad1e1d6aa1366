import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { unmet } from './conditions.ts'
import type { FaultEndings } from './fault-endings.ts'
import { type Located, locate, type Step } from './locate.ts'
import { type LoggedRequest, type RequestLog, withoutSecrets } from './request-log.ts'
import { toolsFor } from './scenario/for-wire.ts'
import type { Scenario, Turn } from './scenario/schema.ts'
import { fillTemplate } from './template.ts'
import { firstPrompt } from './wire/dialogue.ts'
import { type FaultReply, faultReply } from './wire/fault.ts'
import { newId, tokensIn } from './wire/ids.ts'
import { sendJson, sendStream, sendWhole } from './wire/send.ts'
import type { Asked, Wire } from './wire/wire.ts'

export interface Exchange {
  wire: Wire
  incoming: IncomingMessage
  response: ServerResponse
  asked: Asked
  bytes: number
  signal: AbortSignal
}

export interface Desk {
  scenario: Scenario
  clock: Clock
  endings: FaultEndings
  log: RequestLog
}

/** Answers one request from the scenario; the log has the request before the first byte of the answer leaves. */
export async function answerRequest(exchange: Exchange, desk: Desk): Promise<void> {
  const { dialogue } = exchange.asked
  const session = sessionOf(exchange)
  const located = locate(desk.scenario, dialogue, ({ turn, ...step }) =>
    desk.endings.isOver({ ...step, turn: fillTemplate(turn, dialogue) }, session),
  )
  const entry = describe(exchange, { session, located, now: desk.clock.now() })
  if (located.found !== 'step')
    return refuse(exchange, desk, { ...entry, response: located.found, status: 400 }, located)
  return serve(exchange, desk, entry, located.step)
}

/** Answers how many tokens a request would have. */
export function answerCount(exchange: Exchange, desk: Desk): void {
  const { wire, response, bytes } = exchange
  const located: Located = { found: 'unmatched', problem: '' }
  const entry = describe(exchange, { session: sessionOf(exchange), located, now: desk.clock.now() })
  desk.log.add({ ...entry, response: 'tokens' })
  sendJson(response, { status: 200, headers: { [wire.idHeader]: entry.id }, body: wire.count(tokensIn(bytes)) })
}

function serve(exchange: Exchange, desk: Desk, entry: LoggedRequest, step: Step): Promise<void> | void {
  const { wire, response, asked, bytes, signal } = exchange
  const { dialogue } = asked
  const turn = fillTemplate({ ...desk.scenario.defaults, ...step.turn }, dialogue)
  const fault = turn.fault && faultReply(turn.fault)
  const error =
    fault?.shows === 'error' ? wire.failure(fault.fault, { model: dialogue.model, now: entry.time }) : undefined
  const unexpected = turn.expect ? unmet(turn.expect, dialogue, dialogue.entries) : []
  if (turn.fault) desk.endings.shown(step, entry.session)
  desk.log.add({ ...entry, response: turn.fault?.kind ?? 'answer', status: error?.status ?? 200, unexpected })
  const windows = turn.rate_limits ? wire.windows(turn.rate_limits, entry.time) : {}
  const headers = { [wire.idHeader]: entry.id, ...windows, ...turn.headers }
  if (error) return sendJson(response, { ...error, headers: { ...headers, ...error.headers } })
  const given = fault ? spoiled(turn, fault) : turn
  const { tools: names } = desk.scenario
  const tools = toolsFor(given.tools, { names, wire: wire.name, offered: dialogue.tools })
  const answer = { turn: { ...given, tools }, asked, bytes }
  const latency = turn.latency ?? { first_ms: 0, delta_ms: 0 }
  const send = asked.stream ? sendStream : sendWhole
  return send(answer, { wire, response, headers, latency, signal, flaw: fault?.shows === 'flaw' ? fault : undefined })
}

/** A fault in mid-answer needs an answer to break off; without one of its own it gets this. */
function spoiled(turn: Turn, fault: FaultReply): Turn {
  if (fault.shows === 'nothing') return { usage: turn.usage, stop_reason: fault.stop_reason }
  return turn.text || turn.tools || turn.thinking ? turn : { ...turn, text: 'This answer does not come to its end.' }
}

function refuse(exchange: Exchange, desk: Desk, entry: LoggedRequest, { problem }: { problem: string }): void {
  const { wire, response } = exchange
  desk.log.add(entry)
  sendJson(response, {
    status: entry.status,
    headers: { [wire.idHeader]: entry.id, 'x-should-retry': 'false' },
    body: wire.refusal(entry.status, `Simulator: ${problem}`),
  })
}

function describe(
  { incoming, asked }: Exchange,
  { session, located, now }: { session: string; located: Located; now: number },
): LoggedRequest {
  const { dialogue } = asked
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
    stream: asked.stream,
    first_prompt: firstPrompt(dialogue),
    prompt: entries.findLast(entry => entry.kind === 'prompt')?.text ?? '',
    tool_results: results.map(({ text, failed }) => ({ text, failed })),
    conversation: conversationOf(located),
    turn: located.found === 'step' ? located.step.place : null,
    response: 'answer',
    status: 200,
    unexpected: [],
    body: asked.body,
  }
}

function conversationOf(located: Located): string | null {
  if (located.found === 'step') return located.step.conversation
  return located.found === 'exhausted' ? located.conversation : null
}

/** Where agents name their session: Claude Code, Codex. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id']

/** Agents name their session in a header; other clients name it, or a user, in the body. */
function sessionOf({ incoming, asked }: Exchange): string {
  const named = SESSION_HEADERS.map(name => incoming.headers[name]).find(value => typeof value === 'string' && value)
  return typeof named === 'string' ? named : asked.session
}
