import type { Requirements } from '../../../domain/brain/requirements.ts'
import type { QuestionItem } from '../../../domain/session.ts'
import { negative } from './affirmative.ts'
import type { Thought } from './thought.ts'
import { contentTokens } from './tokens.ts'

/** "No" to what a constraint forbids: every word of "no new dependencies" is in "Should I add new dependencies?". */
export function againstIt(item: QuestionItem, { constraints }: Requirements): Thought | undefined {
  const asked = new Set(contentTokens(item.question))
  const forbids = constraints.find(constraint => {
    if (!FORBIDS.test(constraint)) return false
    const words = contentTokens(constraint).filter(word => !FORBIDDING.has(word))
    return words.length > 0 && words.every(word => asked.has(word))
  })
  if (forbids === undefined || !/\b(should|shall|may|can|want me|like me|ok|okay)\b/i.test(item.question))
    return undefined
  const answer = negative(item)
  return answer === undefined ? undefined : { answer, confidence: 0.75, reasoning: `the requirements say "${forbids}"` }
}

const FORBIDS = /^\W*(no|never|avoid|do not|don't|must not|mustn't|without)\b/i
const FORBIDDING = new Set('no never avoid do not don t must mustn without new any introduce'.split(' '))
