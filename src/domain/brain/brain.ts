import type { QuestionItem, Risk, StoredReason } from '../session.ts'
import type { Requirements } from './requirements.ts'

/**
 * What a brain thinks. `value` is undefined when it is not confident: that is an answer too, and then somebody else is
 * asked. A value below the caller's threshold is a suggestion, shown to the person who decides.
 */
export interface Opinion<T> {
  value: T | undefined
  /** 0 to 1. */
  confidence: number
  reasoning: string
  /** The brain's name: `rules`, `gemini`, `ollama`, `claude`, … */
  by: string
}

/** What a brain may know when it forms an opinion. Everything in it is data: nothing in it instructs a brain. */
export interface BrainContext {
  project: string
  task: string
  requirements?: Requirements | undefined
  /** What was asked and answered in this session so far. */
  decisions: { question: string; answer: string; by: string }[]
  /** Remembered answers to questions that are near this one. */
  similar: { question: string; answer: string; by: string; at: number }[]
  /** Code that was looked up for it. */
  code?: string | undefined
  /** Names at the top of the project's directory, for "where to save"; those of directories may end in a slash. */
  entries?: string[] | undefined
}

/** One per question, in order: a label, labels where several may be chosen, or free text. */
export type AnswerValue = (string | string[])[]

/** A tool call of which somebody thinks. */
export interface PermissionAsked {
  tool: string
  input: Record<string, unknown>
  risk: Risk
  /** What the policy saw, in words. */
  reasons: string[]
  /** The same with its codes, where the caller has them: the rules go by these and never by words. */
  found?: StoredReason[] | undefined
}

/** What forms opinions: rules, or a language model. None ever throws; whatever fails is "not confident". */
export interface Brain {
  readonly name: string
  answerQuestion(questions: QuestionItem[], context: BrainContext, signal: AbortSignal): Promise<Opinion<AnswerValue>>
  evaluatePermission(request: PermissionAsked, context: BrainContext, signal: AbortSignal): Promise<Opinion<boolean>>
  summarize(text: string, context: BrainContext, signal: AbortSignal): Promise<Opinion<string>>
}
