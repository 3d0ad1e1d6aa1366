import type { AnswerValue, Brain, Opinion } from '../domain/brain.ts'
import type { QuestionItem } from '../domain/session.ts'
import { explainGraveAnswer } from './rules/grave.ts'

/**
 * Several brains as one, cheap ones first: the first whose confidence reaches the threshold answers. When none does, the best
 * opinion is returned with its confidence below the threshold: the person sees it as a suggestion.
 *
 * No brain can approve a request of HIGH risk, or agree to something destructive, paid, publishing or irreversible. About the
 * first no brain is asked; the second is not even left as a suggestion, because a suggestion may be taken after a deadline.
 */
export function chainBrains(brains: readonly Brain[], { threshold }: { threshold: number }): Brain {
  const name = brains.map(brain => brain.name).join(', ')

  async function askInOrder<T>(
    signal: AbortSignal,
    ask: (brain: Brain) => Promise<Opinion<T>>,
    check: (opinion: Opinion<T>) => Opinion<T> = opinion => opinion,
  ): Promise<Opinion<T>> {
    let best: Opinion<T> = noOpinion(name, 'no brain was asked')
    for (const brain of brains) {
      if (signal.aborted) return noOpinion(brain.name, 'nobody waits for the answer any more')
      const opinion = check(clampConfidence(await askSafely(brain, ask, signal)))
      if (opinion.value !== undefined && opinion.confidence >= threshold) return opinion
      best = chooseBetter(best, opinion)
    }
    return best
  }

  return {
    name,
    answerQuestion: (questions, context, signal) =>
      askInOrder(
        signal,
        brain => brain.answerQuestion(questions, context, signal),
        opinion => checkAnswer(questions, opinion),
      ),
    async evaluatePermission(request, context, signal) {
      if (request.risk === 'HIGH') return noOpinion(name, 'a request of HIGH risk is for a person to decide')
      return askInOrder(signal, brain => brain.evaluatePermission(request, context, signal))
    },
    summarize: (text, context, signal) => askInOrder(signal, brain => brain.summarize(text, context, signal)),
  }
}

/** A brain's opinion; an error, or a caller who gave up meanwhile, is "not confident". */
async function askSafely<T>(
  brain: Brain,
  ask: (brain: Brain) => Promise<Opinion<T>>,
  signal: AbortSignal,
): Promise<Opinion<T>> {
  const { promise: gone, resolve } = Promise.withResolvers<Opinion<T>>()
  const giveUp = () => resolve(noOpinion(brain.name, 'nobody waits for the answer any more'))
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([ask(brain), gone])
  } catch (error) {
    return noOpinion(brain.name, `${brain.name} failed: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** Requires one answer for each question, none of them empty and none that agrees to something grave. */
function checkAnswer(questions: QuestionItem[], opinion: Opinion<AnswerValue>): Opinion<AnswerValue> {
  const { value, by } = opinion
  if (value === undefined) return opinion
  if (value.length !== questions.length)
    return noOpinion(by, `${value.length} answers for ${questions.length} questions`)
  for (const [index, question] of questions.entries()) {
    const answer = [value[index] ?? []].flat()
    if (!answer.some(text => text.trim())) return noOpinion(by, 'one of the questions has no answer')
    const grave = explainGraveAnswer(question, answer)
    if (grave !== undefined) return noOpinion(by, `${grave}: a person decides`)
  }
  return opinion
}

/** An opinion with a value wins, then the higher confidence, then the earlier one. Without any value the later one wins: its reason says more. */
function chooseBetter<T>(best: Opinion<T>, other: Opinion<T>): Opinion<T> {
  if (other.value === undefined) return best.value === undefined ? other : best
  if (best.value === undefined) return other
  return other.confidence > best.confidence ? other : best
}

/** "I do not know": the next brain is asked, or a person. */
export function noOpinion<T>(by: string, reasoning: string): Opinion<T> {
  return { value: undefined, confidence: 0, reasoning, by }
}

/** The opinion with its confidence limited to 0 to 1; a confidence that is not a number counts as 0. */
export function clampConfidence<T>(opinion: Opinion<T>): Opinion<T> {
  const { confidence } = opinion
  if (!Number.isFinite(confidence)) return { ...opinion, confidence: 0 }
  return { ...opinion, confidence: Math.min(1, Math.max(0, confidence)) }
}
