import type { Brain } from '../../domain/brain/brain.ts'
import { notConfident } from '../opinion.ts'
import { judgePermission } from './permission.ts'
import { answerByRules } from './question.ts'

/** The brain without a model: it knows little, says so, costs nothing and answers at once. */
export const rulesBrain: Brain = {
  name: 'rules',
  async answerQuestion(questions, context) {
    return answerByRules(questions, context)
  },
  async evaluatePermission({ risk, found }) {
    if (!found) return notConfident('rules', 'the rules go by codes, and none were given')
    const { approve, confidence, reason } = judgePermission({ risk, reasons: found })
    return { value: approve ? true : undefined, confidence, reasoning: reason, by: 'rules' }
  },
  async summarize(text) {
    const last =
      text
        .trim()
        .split(/\n\s*\n/)
        .at(-1)
        ?.replace(/\s+/g, ' ')
        .trim() ?? ''
    if (!last) return notConfident('rules', 'there is nothing to sum up')
    return { value: clipped(last), confidence: 0.5, reasoning: 'the last paragraph stands for the whole', by: 'rules' }
  },
}

const LONGEST_SUMMARY = 400

function clipped(text: string): string {
  return text.length <= LONGEST_SUMMARY ? text : `${text.slice(0, LONGEST_SUMMARY - 1)}…`
}
