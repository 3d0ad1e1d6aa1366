import type { OpenAsk } from '../../domain/api.ts'
import type { EventBody } from '../../domain/event.ts'
import type { QuestionItem } from '../../domain/session.ts'
import type { Terminal } from './paint.ts'
import { firstLine, neutral, wrap } from './text.ts'

type Permission = Pick<Extract<OpenAsk, { kind: 'permission' }>, 'tool' | 'target' | 'risk' | 'reason'>

/** What the agent wants to do, whole: a person must see all of what they allow. */
export function askedPermission(ask: Permission, terminal: Terminal): string[] {
  return [
    `${terminal.paint('yellow', '⚠️  PERMISSION')} wanted: ${terminal.paint('bold', firstLine(ask.tool))}`,
    ...wrap(neutral(ask.target), terminal.width - 13).map(line => `  ${line}`),
    ...wrap(`${ask.risk} risk: ${neutral(ask.reason)}`, terminal.width - 13).map(
      line => `  ${terminal.paint('dim', line)}`,
    ),
  ]
}

/** The questions of an agent with their numbered options. */
export function askedQuestions(questions: QuestionItem[], terminal: Terminal): string[] {
  const heading = terminal.paint(
    'yellow',
    questions.length > 1 ? '⚠️  QUESTIONS from Claude:' : '⚠️  QUESTION from Claude:',
  )
  return [heading, ...questions.flatMap(item => questionLines(item, terminal))]
}

/** A question nobody could answer yet. */
export function parkedQuestions(body: EventBody<'question.parked'>, terminal: Terminal): string[] {
  const why = wrap(neutral(body.reason), terminal.width - 11)
  return [...askedQuestions(body.questions, terminal), ...why.map(line => terminal.paint('yellow', line))]
}

function questionLines(item: QuestionItem, terminal: Terminal): string[] {
  const question = wrap(`"${neutral(item.question)}"`, terminal.width - 11)
  if (item.options.length === 0) return question
  const options = item.options.map(({ label }, index) => `[${index + 1}] ${firstLine(label)}`)
  const title = item.multiSelect ? 'Options (several may be chosen): ' : 'Options: '
  const described = item.options.some(option => option.description)
  if (!described) return [...question, ...wrap(title + options.join('  '), terminal.width - 11)]
  return [
    ...question,
    title.trim(),
    ...item.options.flatMap(({ label, description }, index) => {
      const head = `[${index + 1}] ${firstLine(label)}`
      const text = description ? `${head} — ${neutral(description)}` : head
      return wrap(text, terminal.width - 13).map(
        line =>
          `  ${line.startsWith(head) ? head + terminal.paint('dim', line.slice(head.length)) : terminal.paint('dim', line)}`,
      )
    }),
  ]
}
