import * as z from 'zod'
import type { Escalation } from '../../../domain/escalation.ts'
import { QuestionItem } from '../../../domain/session.ts'
import { firstLine, neutral, wrap } from '../../render/text.ts'

type Asked = Pick<Escalation, 'kind' | 'input' | 'target'>

const Input = z.object({ questions: z.array(QuestionItem).min(1) })

/** The parts of a question as its row keeps them; none where they were too long to be kept. */
function questionsOf({ kind, input }: Asked): QuestionItem[] {
  return kind === 'question' ? (Input.safeParse(input).data?.questions ?? []) : []
}

/** A question in one line. */
export function questionLine(row: Asked): string {
  const [first, ...more] = questionsOf(row)
  const text = firstLine(first?.question ?? row.target)
  return more.length === 0 ? text : `${text} (and ${more.length} more)`
}

/** What may be chosen, in one line with the numbers that choose it. */
export function optionsLine(row: Asked): string {
  const [first] = questionsOf(row)
  if (!first || first.options.length === 0) return 'answer in words'
  return first.options.map(({ label }, index) => `[${index + 1}] ${firstLine(label)}`).join('  ')
}

/** Whether one line cannot tell all of it. */
export function hasMore(row: Asked): boolean {
  if (row.kind !== 'question') return false
  const questions = questionsOf(row)
  const described = questions.some(({ options }) => options.some(({ description }) => description !== ''))
  return questions.length !== 1 || described || questions.some(({ multiSelect }) => multiSelect)
}

/** Every part of a question with its numbered options, harmless and wrapped. */
export function questionLines(row: Asked, width: number): string[] {
  const questions = questionsOf(row)
  if (questions.length === 0) return wrap(`${neutral(row.target)} (too long for here: answer with pcc attach)`, width)
  return questions.flatMap(({ question, options, multiSelect }) => [
    ...wrap(`${neutral(question)}${multiSelect ? ' (several may be chosen: 1,2)' : ''}`, width),
    ...options.flatMap(({ label, description }, index) => {
      const text = `[${index + 1}] ${firstLine(label)}${description ? ` — ${neutral(description)}` : ''}`
      return wrap(text, width - 2).map(line => `  ${line}`)
    }),
  ])
}
