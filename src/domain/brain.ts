import * as z from 'zod'
import { PURPOSES } from './budget.ts'
import type { QuestionItem, Risk, StoredReason } from './session.ts'

/**
 * The opinion of a brain. `value` is undefined if the brain is not confident; then somebody else is asked. A value below
 * the caller's threshold is a suggestion, shown to the person who decides.
 */
export interface Opinion<T> {
  value: T | undefined
  /** 0 to 1. */
  confidence: number
  reasoning: string
  /** The brain's name: `rules`, `ollama`, `claude`, … */
  by: string
}

/** What a brain may know when it forms an opinion. All of it is data; none of it is an instruction to the brain. */
export interface BrainContext {
  project: string
  task: string
  requirements?: Requirements | undefined
  /** The questions and answers of this session so far. */
  decisions: { question: string; answer: string; by: string }[]
  /** Remembered answers to similar questions. */
  similar: { question: string; answer: string; by: string; at: number }[]
  /** Code that was looked up for the question. */
  code?: string | undefined
  /** What was learned before: episodes and facts, each with its source. */
  learned?: string | undefined
  /** The names in the project's top directory, for questions such as "where to save"; directories may end in a slash. */
  entries?: string[] | undefined
  /** Counts what a model used for a reply, whether or not the reply can be used. It never throws. */
  used?(use: ModelUse): Promise<void>
}

/** What one reply of a model used. */
export interface ModelUse {
  model: string
  inputTokens: number
  outputTokens: number
  cacheWriteTokens: number
  cacheReadTokens: number
  /** Undefined if nobody says what it costs. */
  costUsd?: number | undefined
}

/** One answer per question, in order: a label, several labels if allowed, or free text. */
export type AnswerValue = (string | string[])[]

/** A tool call to be judged. */
export interface PermissionAsked {
  tool: string
  input: Record<string, unknown>
  risk: Risk
  /** The policy's observations as texts. */
  reasons: string[]
  /** The same with codes, if the caller has them. The rules use codes and never texts. */
  found?: StoredReason[] | undefined
}

/** Forms opinions with rules or a language model. It never throws; a failure means "not confident". */
export interface Brain {
  readonly name: string
  answerQuestion(questions: QuestionItem[], context: BrainContext, signal: AbortSignal): Promise<Opinion<AnswerValue>>
  evaluatePermission(request: PermissionAsked, context: BrainContext, signal: AbortSignal): Promise<Opinion<boolean>>
  summarize(text: string, context: BrainContext, signal: AbortSignal): Promise<Opinion<string>>
}

/** People write requirements by hand, so a file with many more tasks is something else. */
export const MAX_REQUIRED_TASKS = 1_000

export const RequiredTask = z.object({
  id: z.string().optional(),
  /** The task with everything indented under it. */
  text: z.string(),
  done: z.boolean(),
  /** Higher is sooner. */
  priority: z.number(),
  /** Ids of other tasks of the file. */
  depends_on: z.array(z.string()),
  /** The line in the file, for messages. */
  line: z.number(),
})
export type RequiredTask = z.infer<typeof RequiredTask>

/** `key` is empty if the preference is a plain sentence. */
export const Preference = z.object({ key: z.string(), value: z.string() })
export type Preference = z.infer<typeof Preference>

/** A person's requirements for a project: tasks, preferences and constraints. */
export const Requirements = z.object({
  title: z.string().optional(),
  overview: z.string().optional(),
  tasks: z.array(RequiredTask).max(MAX_REQUIRED_TASKS),
  preferences: z.array(Preference).max(1_000),
  constraints: z.array(z.string()).max(1_000),
})
export type Requirements = z.infer<typeof Requirements>

/** A brain's suggested answer, shown to the person who decides. For a permission it is `allow` or `deny`. */
export const Suggestion = z.object({
  /** One answer for each part of a question: a label, several labels if allowed, or free text. */
  answer: z.array(z.union([z.string(), z.array(z.string())])),
  /** 0 to 1. */
  confidence: z.number(),
  /** The brain's name. */
  by: z.string(),
  reasoning: z.string().optional(),
})
export type Suggestion = z.infer<typeof Suggestion>

/** A model was asked for something other than the work of a session; the subject of the event is the session, or `daemon`. */
export const ModelAsked = z.object({
  purpose: z.enum(PURPOSES),
  project: z.string(),
  task: z.string().optional(),
  model: z.string().optional(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  /** 0 if the price is not known. */
  cost_usd: z.number(),
})
