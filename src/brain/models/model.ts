import type * as z from 'zod'

/** One thing that is asked of a language model: what it is told, what it is to judge, and the shape of its reply. */
export interface Ask {
  instructions: string
  prompt: string
  shape: z.ZodType
  signal: AbortSignal
}

/** The text of a reply, which should be JSON of the asked shape and may be anything; or that the model refused. */
export type Reply = { text: string } | { refused: string }

/**
 * A language model, whoever serves it. It throws when no reply comes: wrong key, limit, no connection. `ModelFailure` says
 * so in words for a person.
 */
export type Model = (ask: Ask) => Promise<Reply>

/** No reply came, or none that could be used. */
export class ModelFailure extends Error {}
