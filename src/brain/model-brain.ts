import {
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  isBrokenCircuitError,
  isTaskCancelledError,
  TimeoutStrategy,
  timeout,
} from 'cockatiel'
import * as z from 'zod'
import type { AnswerValue, Brain, BrainContext, ModelUse, Opinion } from '../domain/brain.ts'
import type { QuestionItem } from '../domain/session.ts'
import { clampConfidence, noOpinion } from './chain.ts'
import { answerPrompt, isShownWhole, type Prompt, permissionPrompt, repairPrompt, summaryPrompt } from './prompt.ts'

/** A request to a language model: its instructions, what it has to judge, and the shape of its reply. */
export interface ModelAsk {
  instructions: string
  prompt: string
  shape: z.ZodType
  signal: AbortSignal
}

/** The text of a reply, which should be JSON of the requested shape but may be anything; or that the model refused. */
export type ModelReply = ({ text: string } | { refused: string }) & { used?: ModelUse | undefined }

/**
 * A language model, whoever serves it. It throws when no reply comes: wrong key, limit, no connection. The message of a
 * `ModelFailure` is for a person.
 */
export type Model = (ask: ModelAsk) => Promise<ModelReply>

/** No usable reply came. */
export class ModelFailure extends Error {}

/** A text longer than this is no summary. */
const LONGEST_SUMMARY = 4_000

/**
 * A brain over a language model. Replies are checked; after an unusable reply the model is asked once more, with what was wrong.
 * A second unusable reply throws: `withGuard` counts that and turns it into "not confident".
 */
export function modelBrain(name: string, model: Model): Brain {
  async function ask<S extends Judged, T>(
    request: { prompt: Prompt; shape: z.ZodType<S>; context: BrainContext; signal: AbortSignal },
    read: (reply: S) => Read<T>,
  ): Promise<Opinion<T>> {
    const { shape, context, signal } = request
    let prompt = request.prompt
    for (let repaired = false; ; repaired = true) {
      const reply = await model({ ...prompt, shape, signal })
      if (reply.used) await context.used?.(reply.used)
      if ('refused' in reply) return noOpinion(name, `${name} refused: ${reply.refused}`)
      const checked = checkReply(reply.text, shape)
      const result = 'problem' in checked ? checked : read(checked.reply)
      if ('value' in result && 'reply' in checked) return opinionOf(name, result.value, checked.reply)
      const problem = 'problem' in result ? result.problem : 'it is not what was asked for'
      if (repaired) throw new ModelFailure(`its reply could not be used, twice: ${problem}`)
      prompt = repairPrompt(request.prompt, reply.text, problem)
    }
  }

  return {
    name,
    answerQuestion: (questions, context, signal) =>
      ask({ prompt: answerPrompt(questions, context), shape: AnswersReply, context, signal }, reply =>
        reply.answers.length === 0 ? { value: undefined } : readAnswers(reply, questions),
      ),
    async evaluatePermission(request, context, signal) {
      // The model is not asked, so that nothing in the request can persuade it.
      if (request.risk === 'HIGH') return noOpinion(name, 'a request of HIGH risk is for a person to decide')
      if (!isShownWhole(request)) return noOpinion(name, 'the call is too long to be shown whole to a model')
      return ask({ prompt: permissionPrompt(request, context), shape: PermissionReply, context, signal }, reply => ({
        value: reply.approve,
      }))
    },
    summarize: (text, context, signal) =>
      ask({ prompt: summaryPrompt(text, context), shape: SummaryReply, context, signal }, reply => {
        const value = reply.summary.trim()
        if (value === '') return { problem: 'the summary is empty' }
        return value.length > LONGEST_SUMMARY ? { problem: 'the summary is far too long' } : { value }
      }),
  }
}

interface Judged {
  confidence: number
  reasoning: string
}

type Read<T> = { value: T | undefined } | { problem: string }

function opinionOf<T>(by: string, value: T | undefined, { confidence, reasoning }: Judged): Opinion<T> {
  const text = reasoning.trim().slice(0, 500)
  return value === undefined || confidence === 0
    ? noOpinion(by, text || `${by} could not tell`)
    : { value, confidence, reasoning: text, by }
}

function checkReply<S extends Judged>(text: string, shape: z.ZodType<S>): { reply: S } | { problem: string } {
  const json = parseReply(text)
  if (json === undefined) return { problem: 'it is not a JSON object' }
  const result = shape.safeParse(json)
  if (!result.success) return { problem: z.prettifyError(result.error) }
  const { confidence } = result.data
  return confidence >= 0 && confidence <= 1 ? { reply: result.data } : { problem: '"confidence" is not from 0 to 1' }
}

/** Models wrap JSON in a code block, and some think aloud before it, even when told not to. */
function parseReply(text: string): unknown {
  const answer = text.replace(/^[\s\S]*<\/think>/, '').trim()
  const block = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(answer)?.[1] ?? answer
  try {
    return JSON.parse(block)
  } catch {
    return undefined
  }
}

const judged = {
  confidence: z.number().describe('from 0 to 1'),
  reasoning: z.string().describe('one sentence'),
}

/** A model's reply to questions; no answers at all when it is unsure. */
const AnswersReply = z.object({
  answers: z
    .array(z.object({ chosen: z.array(z.string()).describe('exact labels, or one text where there are no options') }))
    .describe('one per question, in order; empty when unsure'),
  ...judged,
})

const PermissionReply = z.object({ approve: z.boolean(), ...judged })

const SummaryReply = z.object({ summary: z.string(), ...judged })

/** A text longer than this is no answer to a question. */
const LONGEST_ANSWER = 2_000

/** The answers in the agent's form, or what is wrong with them, worded for the model. */
export function readAnswers(
  reply: z.infer<typeof AnswersReply>,
  questions: QuestionItem[],
): { value: AnswerValue } | { problem: string } {
  if (reply.answers.length !== questions.length)
    return { problem: `there are ${questions.length} questions and ${reply.answers.length} entries in "answers"` }
  const value: AnswerValue = []
  for (const [index, question] of questions.entries()) {
    const chosen = (reply.answers[index]?.chosen ?? []).map(text => text.trim()).filter(text => text !== '')
    const read = readAnswer(chosen, question)
    if ('problem' in read) return { problem: `answer ${index + 1}: ${read.problem}` }
    value.push(read.answer)
  }
  return { value }
}

function readAnswer(chosen: string[], question: QuestionItem): { answer: string | string[] } | { problem: string } {
  const [first] = chosen
  if (first === undefined) return { problem: 'nothing is chosen' }
  if (chosen.length > 1 && !question.multiSelect) return { problem: 'only one may be chosen' }
  if (question.options.length === 0) {
    const text = chosen.join(', ')
    return text.length > LONGEST_ANSWER
      ? { problem: `it is longer than ${LONGEST_ANSWER} characters` }
      : { answer: text }
  }
  const labels = chosen.map(text => findLabel(text, question))
  if (!labels.every(label => label !== undefined))
    return { problem: `"${first.slice(0, 100)}" is not one of the labels; give a label exactly` }
  return { answer: question.multiSelect ? [...new Set(labels)] : (labels[0] ?? first) }
}

/** The label that matches exactly, or the only one that matches but for case and spaces (some of which we add ourselves, see `claude-judge.ts`). */
function findLabel(given: string, { options }: QuestionItem): string | undefined {
  const labels = options.map(({ label }) => label)
  if (labels.includes(given)) return given
  const near = labels.filter(label => foldLabel(label) === foldLabel(given))
  return near.length === 1 ? near[0] : undefined
}

function foldLabel(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').replaceAll('@ ', '@').trim()
}

export interface GuardOptions {
  /** After this time there is no opinion. */
  deadlineMs: number
  /** How long a brain that keeps failing is left alone before it is tried again. */
  restMs?: number
}

/** Five failures in a row are no accident; a single slow answer must not open the circuit. */
const FAILURES_IN_A_ROW = 5
const REST_MS = 60_000

/**
 * A deadline and a circuit breaker around a brain that may fail. The inner brain throws when its model does not answer or keeps
 * answering nonsense; the guarded brain never throws, and a failure is "not confident".
 *
 * Closed: every question is asked. After five failures in a row the circuit is open: callers get "not confident" at once and
 * go on to the next brain or to a person. After `restMs` the first question is a trial: while it runs, other callers still get
 * "not confident" at once. The trial closes the circuit or opens it for another `restMs`. A caller who gives up is no failure of
 * the brain, but no proof of its health either: a trial that is given up opens the circuit again.
 */
export function withGuard(brain: Brain, { deadlineMs, restMs = REST_MS }: GuardOptions): Brain {
  const breaker = circuitBreaker(
    handleWhen(error => !(error instanceof CallerGone) || breaker.state === CircuitState.HalfOpen),
    { halfOpenAfter: restMs, breaker: new ConsecutiveBreaker(FAILURES_IN_A_ROW) },
  )
  const deadline = timeout(deadlineMs, TimeoutStrategy.Aggressive)

  async function guard<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<Opinion<T>>): Promise<Opinion<T>> {
    // The breaker would make other callers wait for the outcome of the trial.
    if (breaker.state === CircuitState.HalfOpen) return noOpinion(brain.name, `${brain.name} is being tried again`)
    if (signal.aborted) return noOpinion(brain.name, 'nobody waits for the answer any more')
    try {
      return clampConfidence(
        await breaker.execute(async () => {
          try {
            return await deadline.execute(({ signal: until }) => ask(until), signal)
          } catch (error) {
            throw signal.aborted ? new CallerGone() : error
          }
        }),
      )
    } catch (error) {
      return noOpinion(brain.name, explainFailure(brain.name, error, deadlineMs))
    }
  }

  return {
    name: brain.name,
    answerQuestion: (questions, context, signal) =>
      guard(signal, until => brain.answerQuestion(questions, context, until)),
    evaluatePermission: (request, context, signal) =>
      guard(signal, until => brain.evaluatePermission(request, context, until)),
    summarize: (text, context, signal) => guard(signal, until => brain.summarize(text, context, until)),
  }
}

class CallerGone extends Error {}

function explainFailure(name: string, error: unknown, deadlineMs: number): string {
  if (error instanceof CallerGone) return 'nobody waits for the answer any more'
  if (isBrokenCircuitError(error)) return `${name} failed several times in a row and is not asked for a while`
  if (isTaskCancelledError(error)) return `${name} did not answer within ${deadlineMs / 1000} s`
  return `${name} failed: ${error instanceof Error ? error.message : String(error)}`
}
