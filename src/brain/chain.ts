import type { AnswerValue, Brain, Opinion } from '../domain/brain.ts'
import type { QuestionItem } from '../domain/session.ts'
import { explainGraveAnswer } from './rules/grave.ts'

/**
 * Several brains as one, cheap ones first: the first whose confidence reaches the threshold answers. When none does, the best
 * opinion comes back with its confidence below the threshold: it is the suggestion that the person sees.
 *
 * Two things no brain can do, whatever it says: approve a request of HIGH risk, and agree to something destructive, paid,
 * publishing or irreversible. The first is not even asked; of the second not so much as a suggestion is left, because a
 * deadline may take suggestions.
 */
export function chainBrains(brains: readonly Brain[], { threshold }: { threshold: number }): Brain {
  const name = brains.map(brain => brain.name).join(', ')

  async function first<T>(
    signal: AbortSignal,
    form: (brain: Brain) => Promise<Opinion<T>>,
    check: (opinion: Opinion<T>) => Opinion<T> = opinion => opinion,
  ): Promise<Opinion<T>> {
    let best: Opinion<T> = noOpinion(name, 'no brain was asked')
    for (const brain of brains) {
      if (signal.aborted) return noOpinion(brain.name, 'nobody waits for the answer any more')
      const opinion = check(clampConfidence(await formed(brain, form, signal)))
      if (opinion.value !== undefined && opinion.confidence >= threshold) return opinion
      best = better(best, opinion)
    }
    return best
  }

  return {
    name,
    answerQuestion: (questions, context, signal) =>
      first(
        signal,
        brain => brain.answerQuestion(questions, context, signal),
        opinion => checkedAnswer(questions, opinion),
      ),
    async evaluatePermission(request, context, signal) {
      if (request.risk === 'HIGH') return noOpinion(name, 'a request of HIGH risk is for a person to decide')
      return first(signal, brain => brain.evaluatePermission(request, context, signal))
    },
    summarize: (text, context, signal) => first(signal, brain => brain.summarize(text, context, signal)),
  }
}

/** What a brain said; a throw or a caller who gave up meanwhile is "not confident". */
async function formed<T>(
  brain: Brain,
  form: (brain: Brain) => Promise<Opinion<T>>,
  signal: AbortSignal,
): Promise<Opinion<T>> {
  const { promise: gone, resolve } = Promise.withResolvers<Opinion<T>>()
  const giveUp = () => resolve(noOpinion(brain.name, 'nobody waits for the answer any more'))
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([form(brain), gone])
  } catch (error) {
    return noOpinion(brain.name, `${brain.name} failed: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** One answer for each question, none of them empty and none that agrees to something grave. */
function checkedAnswer(questions: QuestionItem[], opinion: Opinion<AnswerValue>): Opinion<AnswerValue> {
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

/** A value beats none; then the higher confidence; of equals the earlier, except that the last reason for none is the fullest. */
function better<T>(best: Opinion<T>, other: Opinion<T>): Opinion<T> {
  if (other.value === undefined) return best.value === undefined ? other : best
  if (best.value === undefined) return other
  return other.confidence > best.confidence ? other : best
}

/** "I do not know": the next brain is asked, or a person. */
export function noOpinion<T>(by: string, reasoning: string): Opinion<T> {
  return { value: undefined, confidence: 0, reasoning, by }
}

/** The opinion with a confidence that is a number from 0 to 1; one that is none counts as no confidence at all. */
export function clampConfidence<T>(opinion: Opinion<T>): Opinion<T> {
  const { confidence } = opinion
  if (!Number.isFinite(confidence)) return { ...opinion, confidence: 0 }
  return { ...opinion, confidence: Math.min(1, Math.max(0, confidence)) }
}
