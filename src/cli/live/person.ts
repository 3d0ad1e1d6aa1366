import type { AnswerAsk, OpenAsk } from '../../domain/api.ts'

/** What was answered, without the id of the ask. */
export type Reply = Omit<AnswerAsk, 'ask_id' | 'by' | 'env'> & { by?: string }

/** What the one who is asked gets beside the ask. */
export interface Moment {
  /** Raised when the ask is withdrawn (somebody else answered, the session ended). */
  signal: AbortSignal
  /** Shows a line under what is asked: a part of the answer, before the rest of it. */
  echo(line: string): void
}

/** Whoever answers what a session asks: somebody at the terminal, or the scripted person of the demo. */
export interface Person {
  /** Nothing when the ask was withdrawn meanwhile. */
  answer(ask: OpenAsk, moment: Moment): Promise<Reply | undefined>
}
