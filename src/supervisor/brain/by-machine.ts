import { graveAnswer } from '../../brain/rules/grave/grave-answer.ts'
import type { AnswerValue, Opinion } from '../../domain/brain/brain.ts'
import type { Suggestion } from '../../domain/brain/suggestion.ts'
import type { Answer, QuestionItem } from '../../domain/session.ts'
import { type RememberedOpinion, remembered } from '../../human/memory/remembered.ts'
import { eventOf } from '../events/agent-event.ts'
import { record } from '../record.ts'
import type { Desk } from '../run.ts'
import { brainContext } from './context.ts'

/** What the machine makes of a question: an answer, or a suggestion for the person who decides, or neither. */
export interface ByMachine {
  answer?: Answer | undefined
  suggestion?: Suggestion | undefined
  /** Why, for the log. */
  reasoning: string
  confidence: number
}

/**
 * Answers a question without a person where that is right: what a person answered to the same question before, else what a
 * brain is confident of. Never throws: whatever fails is no answer, and then a person is asked.
 */
export async function byMachine(questions: QuestionItem[], signal: AbortSignal, desk: Desk): Promise<ByMachine> {
  try {
    return await formed(questions, signal, desk)
  } catch (error) {
    desk.run.log.warn({ error }, 'no opinion could be formed')
    return { reasoning: 'no opinion could be formed', confidence: 0 }
  }
}

async function formed(questions: QuestionItem[], signal: AbortSignal, { run, parts }: Desk): Promise<ByMachine> {
  const { brain, threshold, autoAnswer, memory: settings } = run.mind
  const memory = remembered(parts.store, { ...settings, clock: parts.clock })
  const asked = { project: run.row.project, questions }
  const found = await memory.find(asked)
  const earlier = found && (found.lasting || !isGrave(questions, found)) ? found : undefined
  if (autoAnswer && earlier && earlier.confidence >= threshold) return answered(questions, earlier, 'memory')
  const context = { ...(await brainContext(run, parts)), similar: await memory.similar(asked) }
  const opinion = await brain.answerQuestion(questions, context, signal)
  if (autoAnswer && opinion.value && opinion.confidence >= threshold) {
    return answered(questions, opinion, `brain:${opinion.by}`)
  }
  const best = earlier ?? opinion
  if (best.value === undefined && brain.name !== 'rules') await sayWhyNot(best, { run, parts })
  return { suggestion: suggestionOf(best), reasoning: best.reasoning, confidence: best.confidence }
}

/** Who set a model up wants to know why it did not answer: a key that is wrong, a server that is down. */
async function sayWhyNot({ reasoning }: Opinion<AnswerValue>, { run, parts }: Desk): Promise<void> {
  run.log.warn({ reasoning }, 'no brain could answer')
  const text = `No brain could answer the question: ${reasoning}`
  await record(run, parts, { events: [eventOf(run, 'session.noted', { text }, 'daemon')], patch: {} })
}

/** A yes to something destructive or irreversible was for that day, unless the person said that it counts always. */
function isGrave(questions: QuestionItem[], { value }: RememberedOpinion): boolean {
  return questions.some((item, index) => graveAnswer(item, [value[index] ?? ''].flat()) !== undefined)
}

function answered(questions: QuestionItem[], opinion: Opinion<AnswerValue>, by: string): ByMachine {
  const value = opinion.value ?? []
  const answers = Object.fromEntries(questions.map(({ question }, index) => [question, value[index] ?? '']))
  return { answer: { answers, by }, reasoning: opinion.reasoning, confidence: opinion.confidence }
}

function suggestionOf({ value, confidence, by, reasoning }: Opinion<AnswerValue>): Suggestion | undefined {
  return value && { answer: value, confidence, by, reasoning }
}
