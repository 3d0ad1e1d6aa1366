import type { Fault } from '../scenario/fault-schema.ts'
import type { RateLimits, Turn } from '../scenario/schema.ts'
import type { Dialogue } from './dialogue.ts'

export type WireName = 'anthropic' | 'gemini' | 'responses'

/** What a path asks for. Some vendors name the model, and whether a stream is wanted, in it. */
export interface Route {
  asks: 'answer' | 'count'
  model?: string | undefined
  stream?: boolean | undefined
}

/** A request as it was understood. */
export interface Asked {
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
export interface Answering {
  turn: Turn
  asked: Asked
  /** The size of the request, from which tokens are estimated. */
  bytes: number
}

/** One event of a stream as it goes over the wire. */
export interface Piece {
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
  read(body: unknown, route: Route): Asked | { problem: string }
  pieces(answer: Answering): Iterable<Piece>
  whole(answer: Answering): unknown
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
