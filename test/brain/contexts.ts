import type { AnswerValue, Brain, BrainContext, Opinion } from '../../src/domain/brain.ts'
import type { QuestionItem } from '../../src/domain/session.ts'

/** A context in which nothing is known, with what a test adds. */
export function contextOf(known: Partial<BrainContext> = {}): BrainContext {
  return { project: '/project', task: 'build it', decisions: [], similar: [], ...known }
}

/** A question as Claude Code asks it. */
export function asked(
  question: string,
  labels: readonly (string | [string, string])[] = [],
  multiSelect = false,
): QuestionItem {
  return {
    question,
    header: '',
    multiSelect,
    options: labels.map(label => {
      const [text, description] = typeof label === 'string' ? [label, ''] : label
      return { label: text, description }
    }),
  }
}

/** Short functions in the place of a model. */
export function brainOf(
  name: string,
  says: {
    answer?: (signal: AbortSignal) => Promise<Opinion<AnswerValue>> | Opinion<AnswerValue>
    permission?: () => Promise<Opinion<boolean>> | Opinion<boolean>
    summary?: () => Opinion<string>
  },
): Brain {
  const nothing = { value: undefined, confidence: 0, reasoning: 'nothing to say', by: name }
  return {
    name,
    answerQuestion: async (_questions, _context, signal) => (await says.answer?.(signal)) ?? nothing,
    evaluatePermission: async () => (await says.permission?.()) ?? nothing,
    summarize: async () => says.summary?.() ?? nothing,
  }
}
