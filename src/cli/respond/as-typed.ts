import type { AnswerEscalation } from '../../domain/escalation.ts'
import type { QuestionItem } from '../../domain/session.ts'
import type { Reply } from '../live/person.ts'

/** What was answered by keys, as it would have been typed behind `pcc respond`: options by number, which is never ambiguous. */
export function asTyped(
  { verdict, answers, reason }: Reply,
  questions: readonly QuestionItem[],
): Pick<AnswerEscalation, 'verdict' | 'answer' | 'reason'> {
  const why = reason === undefined ? {} : { reason }
  if (!answers) return { ...(verdict && { verdict }), ...why }
  return { answer: questions.map(item => typed(answers[item.question] ?? '', item)), ...why }
}

function typed(answer: string | string[], { options }: QuestionItem): string {
  const chosen = [answer].flat()
  const numbers = chosen.map(label => options.findIndex(option => option.label === label) + 1)
  return numbers.every(number => number > 0) ? numbers.join(',') : chosen.join(', ')
}
