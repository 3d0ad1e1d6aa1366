import * as z from 'zod'
import type { QuestionItem, Risk, StoredReason } from './session.ts'

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

/** A person wrote it by hand: far more than that is something else. */
export const MAX_REQUIRED_TASKS = 1_000

export const RequiredTask = z.object({
  id: z.string().optional(),
  /** What is to be done, with whatever stands under it. */
  text: z.string(),
  done: z.boolean(),
  /** Higher is sooner. */
  priority: z.number(),
  /** Ids of other tasks of the file. */
  depends_on: z.array(z.string()),
  /** Of the file, for messages. */
  line: z.number(),
})
export type RequiredTask = z.infer<typeof RequiredTask>

/** `key` is empty where a sentence stands among the preferences. */
export const Preference = z.object({ key: z.string(), value: z.string() })
export type Preference = z.infer<typeof Preference>

/** What a person wrote down about a project: what is to be done, what they prefer, what must hold. */
export const Requirements = z.object({
  title: z.string().optional(),
  overview: z.string().optional(),
  tasks: z.array(RequiredTask).max(MAX_REQUIRED_TASKS),
  preferences: z.array(Preference).max(1_000),
  constraints: z.array(z.string()).max(1_000),
})
export type Requirements = z.infer<typeof Requirements>

/** What a brain would answer, shown to the person who decides. To a permission: `allow` or `deny`. */
export const Suggestion = z.object({
  /** One for each part of a question: a label, labels where several may be chosen, or free text. */
  answer: z.array(z.union([z.string(), z.array(z.string())])),
  /** 0 to 1. */
  confidence: z.number(),
  /** The brain's name. */
  by: z.string(),
  reasoning: z.string().optional(),
})
export type Suggestion = z.infer<typeof Suggestion>
