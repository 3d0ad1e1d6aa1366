import type { AnswerAsk, OpenAsk } from '../../domain/api.ts'

/** What was answered, without the id of the ask. */
export type Reply = Omit<AnswerAsk, 'ask_id' | 'by' | 'env'> & { by?: string }

/** Whoever answers what a session asks: somebody at the terminal, or the scripted person of the demo. */
export interface Person {
  /** Nothing when the ask was withdrawn meanwhile (somebody else answered, the session ended). */
  answer(ask: OpenAsk, signal: AbortSignal): Promise<Reply | undefined>
}
