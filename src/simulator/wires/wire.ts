import { randomUUID } from 'node:crypto'
import { unreachable } from '../../base/errors.ts'
import type { Fault } from '../faults.ts'
import type { RateLimits, ScriptedTurn } from '../scenario.ts'

export type WireName = 'anthropic' | 'gemini' | 'responses'

/** What a path asks for. Some vendors name the model, and whether a stream is wanted, in it. */
export interface Route {
  asks: 'answer' | 'count'
  model?: string | undefined
  stream?: boolean | undefined
}

/** A request as it was understood. */
export interface WireRequest {
  dialogue: Dialogue
  stream: boolean
  /** The client's own name for the conversation, where it gives one. */
  session: string
  /** For the log, in the form of one message after the other. */
  body: LoggedBody
  /** Tools that take one text in place of named values. */
  freeform: string[]
  /** Tools that are called by two names, the first that of their server; found under `mcp__server__tool`. */
  namespaced?: Record<string, { namespace: string; name: string }> | undefined
}

export interface LoggedBody {
  system: unknown
  messages: { role: string; content: string | { type: string; [key: string]: unknown }[] }[]
  tools: string[]
}

/** An answer that is to be given. */
export interface WireAnswer {
  turn: ScriptedTurn
  asked: WireRequest
  /** The size of the request, from which tokens are estimated. */
  bytes: number
}

/** One event of a stream as it goes over the wire. */
export interface StreamPiece {
  text: string
  /** A part of what the model says, as opposed to what frames it. */
  isDelta: boolean
}

export interface WireError {
  status: number
  headers: Record<string, string>
  body: unknown
}

/** What goes wrong by an error in place of an answer, as opposed to one that breaks off. */
export type ErrorFault = Exclude<
  Fault,
  { kind: 'refusal' | 'reset' | 'stall' | 'cut_stream' | 'malformed_event' | 'error_event' }
>

/** One vendor's way to ask a model and to be answered. */
export interface Wire {
  readonly name: WireName
  /** In which header the answer's id stands. */
  readonly idHeader: string
  /** What is served, in words. */
  readonly serves: string
  /** Undefined: this is no path of the vendor's. */
  route(method: string, path: string): Route | undefined
  /** Reads a body; a text says what is wrong with it. */
  read(body: unknown, route: Route): WireRequest | { problem: string }
  pieces(answer: WireAnswer): Iterable<StreamPiece>
  whole(answer: WireAnswer): unknown
  count(tokens: number): unknown
  /** The headers in which an account learns how much of its windows is used. */
  windows(limits: RateLimits, now: number): Record<string, string>
  failure(fault: ErrorFault, about: { model: string; now: number }): WireError
  /** A refusal of our own, in the vendor's form. */
  refusal(status: number, message: string, type?: string): unknown
  /** An event that is not whole. */
  readonly broken: string
  /** An error in the middle of a stream. */
  errorEvent(type: string, message: string): string
}

/** The conversation so far, flat and in order. `reply` is one answer of the model, `note` what the harness slipped in. */
export type DialogueEntry =
  | { kind: 'prompt'; text: string }
  | { kind: 'tool_result'; text: string; failed: boolean }
  | { kind: 'reply'; text: string }
  | { kind: 'note'; text: string }

/** What a request of any vendor tells of the conversation that it belongs to. */
export interface Dialogue {
  entries: DialogueEntry[]
  system: string
  model: string
  tools: string[]
  cwd: string
}

/** The first thing the person said: what a conversation is known by. */
export function firstPrompt(dialogue: Dialogue): string {
  return dialogue.entries.find(entry => entry.kind === 'prompt')?.text ?? ''
}

/** An answer that breaks off, and after how many events. */
export interface StreamFlaw {
  shows: 'flaw'
  flaw: 'reset' | 'stall' | 'cut' | 'malformed' | 'error'
  after: number
  type?: string
  message?: string
}

/** How a fault shows: an error instead of the answer, a flaw in the middle of it, or an answer with nothing in it. */
export type FaultReply = { shows: 'error'; fault: ErrorFault } | { shows: 'nothing'; stop_reason: string } | StreamFlaw

/** How a fault shows, whatever the wire. */
export function replyToFault(fault: Fault): FaultReply {
  switch (fault.kind) {
    case 'limit':
    case 'rate_limit':
    case 'overloaded':
    case 'server_error':
    case 'unauthorized':
    case 'forbidden':
    case 'model_not_found':
    case 'credit_too_low':
    case 'prompt_too_long':
    case 'http':
      return { shows: 'error', fault }
    case 'refusal':
      return { shows: 'nothing', stop_reason: 'refusal' }
    case 'reset':
      return { shows: 'flaw', flaw: 'reset', after: 0 }
    case 'stall':
      return { shows: 'flaw', flaw: 'stall', after: fault.after ?? 0 }
    case 'cut_stream':
      return { shows: 'flaw', flaw: 'cut', after: fault.after }
    case 'malformed_event':
      return { shows: 'flaw', flaw: 'malformed', after: fault.after }
    case 'error_event': {
      const { after, type, message = 'Overloaded' } = fault
      return { shows: 'flaw', flaw: 'error', after, type, message }
    }
    default:
      return unreachable(fault)
  }
}

/** A fresh id in a vendor's form, unique across processes. */
export function newId(prefix: 'msg' | 'req' | 'toolu' | 'resp' | 'call' | 'rs'): string {
  return `${prefix}_sim_${randomUUID().replaceAll('-', '')}`
}

/** A rough count for when the scenario names none: about four bytes to a token. */
export function tokensIn(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / 4))
}

/** Short enough that a sentence arrives in pieces; a long text comes in larger ones, so that a big file is not 20,000 events. */
const PIECE = 48
const MAX_PIECES = 200

/** The pieces in which a text arrives: cut between characters, never inside one. */
export function* textPieces(text: string): Generator<string> {
  const size = Math.max(PIECE, Math.ceil(text.length / MAX_PIECES))
  let piece = ''
  for (const character of text) {
    piece += character
    if (piece.length < size) continue
    yield piece
    piece = ''
  }
  if (piece) yield piece
}
