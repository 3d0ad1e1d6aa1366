import type { AnswerValue, BrainContext, Opinion } from '../../domain/brain/brain.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { notConfident } from '../opinion.ts'
import { graveAnswer } from './grave/grave-answer.ts'
import { againstIt } from './question/against-it.ts'
import { byPlace } from './question/by-place.ts'
import { byRequirements } from './question/by-requirements.ts'
import { byYes } from './question/by-yes.ts'
import type { Thought } from './question/thought.ts'

/**
 * The rules on an agent's questions. Each is answered by what the requirements say, else by the project's structure, else by
 * "yes" to going on or to a standard step; all of them or none. What nothing here knows has confidence 0.
 */
export function answerByRules(questions: QuestionItem[], context: BrainContext): Opinion<AnswerValue> {
  const thoughts: Thought[] = []
  for (const item of questions) {
    const thought = think(item, context)
    if (thought === undefined) return notConfident('rules', `no rule knows "${item.question.slice(0, 120)}"`)
    const grave = graveAnswer(item, [thought.answer].flat())
    if (grave !== undefined) return notConfident('rules', `${grave}: a person decides`)
    thoughts.push(thought)
  }
  if (thoughts.length === 0) return notConfident('rules', 'nothing was asked')
  return {
    value: thoughts.map(({ answer }) => answer),
    confidence: Math.min(...thoughts.map(({ confidence }) => confidence)),
    reasoning: [...new Set(thoughts.map(({ reasoning }) => reasoning))].join('; '),
    by: 'rules',
  }
}

function think(item: QuestionItem, context: BrainContext): Thought | undefined {
  if (isOversized(item)) return undefined
  const { requirements, entries = [] } = context
  const written = requirements && (byRequirements(item, requirements) ?? againstIt(item, requirements))
  return written ?? byPlace(item, entries) ?? byYes(item)
}

/** No question that a rule knows is that long, and to compare long texts with long texts takes time. */
function isOversized({ question, options }: QuestionItem): boolean {
  return question.length > 2_000 || options.length > 30 || options.some(({ label }) => label.length > 200)
}
