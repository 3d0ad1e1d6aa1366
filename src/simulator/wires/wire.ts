import { randomUUID } from 'node:crypto'
import { unreachable } from '../../base/errors.ts'
import type { Fault } from '../faults.ts'
import type { RateLimits, ScriptedTurn } from '../scenario.ts'

export type WireName = 'anthropic' | 'gemini' | 'responses'

/** What a path requests. Some vendors put the model, and whether a stream is wanted, into the path. */
export interface Route {
  asks: 'answer' | 'count'
  model?: string | undefined
  stream?: boolean | undefined
}

/** A request as it was understood. */
export interface WireRequest {
  dialogue: Dialogue
  stream: boolean
  /** The client's own name for the conversation, if it gives one. */
  session: string
  /** For the log, as a list of messages. */
  body: LoggedBody
  /** Tools that take one text instead of named values. */
  freeform: string[]
  /** Tools that are called by two names, the first of which is their server's; keyed by `mcp__server__tool`. */
  namespaced?: Record<string, { namespace: string; name: string }> | undefined
}

export interface LoggedBody {
  system: unknown
  messages: { role: string; content: string | { type: string; [key: string]: unknown }[] }[]
  tools: string[]
}

/** An answer to be given. */
export interface WireAnswer {
  turn: ScriptedTurn
  request: WireRequest
  /** The size of the request, from which tokens are estimated. */
  bytes: number
}

/** One encoded event of a stream. */
export interface StreamPiece {
  text: string
  /** A part of the model's output, as opposed to a framing event. */
  isDelta: boolean
}

export interface WireError {
  status: number
  headers: Record<string, string>
  body: unknown
}

/** Faults that are an error instead of an answer, as opposed to an answer that breaks off. */
export type ErrorFault = Exclude<
  Fault,
  { kind: 'refusal' | 'reset' | 'stall' | 'cut_stream' | 'malformed_event' | 'error_event' }
>

/** One vendor's API format for requests and answers. */
export interface Wire {
  readonly name: WireName
  /** The header with the answer's id. */
  readonly idHeader: string
  /** A description of the served paths. */
  readonly serves: string
  /** Undefined if this is not a path of the vendor. */
  route(method: string, path: string): Route | undefined
  /** Reads a request body. */
  read(body: unknown, route: Route): WireRequest | { problem: string }
  pieces(answer: WireAnswer): Iterable<StreamPiece>
  whole(answer: WireAnswer): unknown
  count(tokens: number): unknown
  /** The headers that report how much of an account's windows is used. */
  windows(limits: RateLimits, now: number): Record<string, string>
  failure(fault: ErrorFault, about: { model: string; now: number }): WireError
  /** A refusal of our own, in the vendor's format. */
  refusal(status: number, message: string, type?: string): unknown
  /** An incomplete event. */
  readonly broken: string
  /** An error in the middle of a stream. */
  errorEvent(type: string, message: string): string
}

/** The conversation so far, flat and in order. `reply` is one answer of the model, `note` is text that the agent program added. */
export type DialogueEntry =
  | { kind: 'prompt'; text: string }
  | { kind: 'tool_result'; text: string; failed: boolean }
  | { kind: 'reply'; text: string }
  | { kind: 'note'; text: string }

/** The conversation of a request, whatever the vendor. */
export interface Dialogue {
  entries: DialogueEntry[]
  system: string
  model: string
  tools: string[]
  cwd: string
}

/** The person's first prompt, by which a conversation is recognized. */
export function firstPrompt(dialogue: Dialogue): string {
  return dialogue.entries.find(entry => entry.kind === 'prompt')?.text ?? ''
}

/** An answer that breaks off after a number of events. */
export interface StreamFlaw {
  shows: 'flaw'
  flaw: 'reset' | 'stall' | 'cut' | 'malformed' | 'error'
  after: number
  type?: string
  message?: string
}

/** How a fault shows: an error instead of the answer, a flaw in the middle of it, or an empty answer. */
export type FaultReply = { shows: 'error'; fault: ErrorFault } | { shows: 'nothing'; stop_reason: string } | StreamFlaw

/** The reply for a fault, whatever the wire. */
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

/** A new id in a vendor's format, unique across processes. */
export function newId(prefix: 'msg' | 'req' | 'toolu' | 'resp' | 'call' | 'rs'): string {
  return `${prefix}_sim_${randomUUID().replaceAll('-', '')}`
}

/** A rough count for when the scenario gives none: about four bytes per token. */
export function tokensIn(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / 4))
}

/** Short enough that a sentence arrives in pieces; a long text comes in larger pieces, so that a big file is not 20,000 events. */
const PIECE = 48
const MAX_PIECES = 200

/** The pieces of a streamed text, cut between characters and never inside one. */
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
