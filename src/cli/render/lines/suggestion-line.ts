import type { Suggestion } from '../../../domain/brain/suggestion.ts'
import { firstLine } from '../text.ts'

/** `Brain: "7 days" (confidence: 72%)`, as in the manual. */
export function suggestionLine(suggestion: Suggestion | undefined): string | undefined {
  if (!suggestion) return undefined
  const said = suggestion.answer.map(each => `"${firstLine([each].flat().join(', '))}"`).join(', ')
  return `Brain: ${said} (confidence: ${Math.round(suggestion.confidence * 100)}%)`
}
