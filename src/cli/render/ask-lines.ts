import { neutral } from '../../base/neutral.ts'
import { AGENTS, isAgentKind } from '../../domain/agents/agent-registry.ts'
import type { OpenAsk } from '../../domain/api.ts'
import type { Suggestion } from '../../domain/brain.ts'
import type { EventBody } from '../../domain/event.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { describeInput, isCutInput, listFields } from '../../domain/shown-request.ts'
import { firstLine, type Terminal, wrap } from './text.ts'

type Permission = Pick<
  Extract<OpenAsk, { kind: 'permission' }>,
  'tool' | 'target' | 'risk' | 'reason' | 'reasons' | 'suggestion'
>

/** The most lines of a field where it is only mentioned; how many are left out is shown. */
const FIELD_LINES = 8
/** Stands below a request that is not shown whole: it cannot be allowed by a key. */
export const NOT_WHOLE = 'It is too long to be shown whole, so it cannot be allowed here.'
/** Nobody reads more reasons than this. */
const MORE_REASONS = 3

/** The lines that ask for a permission. All of it is shown: nobody should allow what they have not seen. */
export function permissionLines(
  ask: Permission,
  terminal: Terminal,
  input?: Record<string, unknown>,
  fieldLines = Number.POSITIVE_INFINITY,
): string[] {
  const width = terminal.width - 13
  return [
    `${terminal.paint('yellow', '⚠️  PERMISSION')} wanted: ${terminal.paint('bold', firstLine(ask.tool))}`,
    ...requestLines(ask, { input, width, fieldLines }).map(line => `  ${line}`),
    ...(input && isCutInput(input) ? [`  ${terminal.paint('yellow', NOT_WHOLE)}`] : []),
    ...wrap(`${ask.risk} risk: ${neutral(ask.reason)}`, width).map(line => `  ${terminal.paint('dim', line)}`),
    ...otherReasons(ask).flatMap(text => wrap(`- ${text}`, width).map(line => `  ${terminal.paint('dim', line)}`)),
    ...[suggestionLine(ask.suggestion) ?? []].flat().flatMap(text => wrap(text, width).map(line => `  ${line}`)),
  ]
}

/** A short name for an ask: the tool and its target, or the question's own heading. */
export function describeAsk(ask: OpenAsk): string {
  if (ask.kind === 'permission') return `${firstLine(ask.tool)}${ask.target ? ` → ${firstLine(ask.target)}` : ''}`
  const [first] = ask.questions
  return first?.header ? firstLine(first.header) : `"${firstLine(first?.question ?? '')}"`
}

/** The further reasons above LOW risk; the main reason is shown already. */
function otherReasons({ reason, reasons = [] }: Permission): string[] {
  const texts = reasons.filter(({ risk }) => risk !== 'LOW').map(({ text }) => firstLine(text))
  return [...new Set(texts)].filter(text => !firstLine(reason).includes(text)).slice(0, MORE_REASONS)
}

interface ShownInput {
  input: Record<string, unknown> | undefined
  width: number
  /** The most lines of each field. */
  fieldLines: number
}

/** The input of the request: a command always whole, other fields up to the given number of lines. */
function requestLines(ask: Permission, { input, width, fieldLines }: ShownInput): string[] {
  const isCommand = ask.tool === 'Bash' && typeof input?.['command'] === 'string'
  if (!input || isCommand) return wrap(neutral(describeInput({ ...ask, input: input ?? {} })), width)
  const fields = listFields(input)
  if (fields.length === 0) return wrap(neutral(ask.target), width)
  return fields.flatMap(text => {
    const lines = wrap(neutral(text), width)
    if (lines.length <= fieldLines) return lines
    return [...lines.slice(0, fieldLines), `… ${lines.length - fieldLines} more lines`]
  })
}

/** The questions of an agent with their numbered options, and the brain's suggestion. */
export function askedQuestionLines(
  { questions, suggestion }: Pick<EventBody<'question.asked'>, 'questions' | 'suggestion'>,
  terminal: Terminal,
  agent?: string,
): string[] {
  const { speaker } = agentName(agent)
  const heading = terminal.paint(
    'yellow',
    questions.length > 1 ? `⚠️  QUESTIONS from ${speaker}:` : `⚠️  QUESTION from ${speaker}:`,
  )
  const suggested = suggestionLine(suggestion)
  return [
    heading,
    ...questions.flatMap(item => questionLines(item, terminal)),
    ...(suggested === undefined ? [] : wrap(suggested, terminal.width - 11)),
  ]
}

/** A parked question. For a person who answers it here (`here`) it is shown as an ordinary question. */
export function parkedQuestionLines(
  body: EventBody<'question.parked'>,
  terminal: Terminal,
  { here = false, agent }: { here?: boolean | undefined; agent?: string | undefined } = {},
): string[] {
  if (here) return askedQuestionLines(body, terminal, agent)
  const reason = wrap(neutral(body.reason), terminal.width - 11)
  const lines = [...reason, ...respondLine(body.number, '"…"')]
  return [...askedQuestionLines(body, terminal, agent), ...lines.map(line => terminal.paint('yellow', line))]
}

/** A parked permission: a dangerous call that waits for a person. */
export function parkedPermissionLines(
  body: EventBody<'permission.parked'>,
  terminal: Terminal,
  { input, here = false }: { input?: Record<string, unknown> | undefined; here?: boolean | undefined } = {},
): string[] {
  if (here) return permissionLines(body, terminal, input)
  const lines = ['nobody is attached to approve it; it waits', ...respondLine(body.number, '--approve, or --deny')]
  return [...permissionLines(body, terminal, input, FIELD_LINES), ...lines.map(line => terminal.paint('yellow', line))]
}

function respondLine(number: number | undefined, args: string): string[] {
  return number === undefined ? [] : [`Answer with: pcc respond ${number} ${args}`]
}

function questionLines(item: QuestionItem, terminal: Terminal): string[] {
  const question = wrap(`"${neutral(item.question)}"`, terminal.width - 11)
  if (item.options.length === 0) return question
  const options = item.options.map(({ label }, index) => `[${index + 1}] ${firstLine(label)}`)
  const title = item.multiSelect ? 'Options (several may be chosen): ' : 'Options: '
  const hasDescriptions = item.options.some(option => option.description)
  if (!hasDescriptions) return [...question, ...wrap(title + options.join('  '), terminal.width - 11)]
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

/** `Brain: "7 days" (confidence: 72%)` */
export function suggestionLine(suggestion: Suggestion | undefined): string | undefined {
  if (!suggestion) return undefined
  const answers = suggestion.answer.map(answer => `"${firstLine([answer].flat().join(', '))}"`).join(', ')
  return `Brain: ${answers} (confidence: ${Math.round(suggestion.confidence * 100)}%)`
}

/** The name of an agent as a speaker and the name of its program. */
export function agentName(agent: string | undefined): { speaker: string; program: string } {
  const name = firstLine(agent ?? 'claude')
  return isAgentKind(name)
    ? { speaker: AGENTS[name].speaker, program: AGENTS[name].name }
    : { speaker: name, program: name }
}
