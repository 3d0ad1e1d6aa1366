import * as z from 'zod'
import { wakeTime } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { Escalation, EscalationView, NeedsReply } from '../../domain/escalation.ts'
import { type Need, type NeedKind, nextLine } from '../../domain/needs.ts'
import { QuestionItem } from '../../domain/session.ts'
import { describeInput, isCutInput, listFields } from '../../domain/shown-request.ts'
import { NOT_WHOLE, suggestionLine } from './ask-lines.ts'
import { ago } from './format.ts'
import { thingsWait } from './list-table.ts'
import { cutAtWord, firstLine, pad, type Terminal, widthOf, wrap } from './text.ts'

/** A row of what waits, or, if `isRefused`, of what was refused while the work went on. A need without a number cannot be answered; it disappears with its cause. */
export type ShownEscalation = EscalationView & { need?: Need; isRefused?: boolean }

/** What waits for the person, in the order in which it is shown everywhere; then what was refused. */
export function shownRows({ needs, refused, escalations }: NeedsReply): ShownRows {
  const byNumber = new Map(escalations.map(row => [row.number, row]))
  const toRow = (need: Need): ShownEscalation => {
    const row = need.number === null ? undefined : byNumber.get(need.number)
    return row ? { ...row, need } : rowWithoutDecision(need)
  }
  return { waiting: needs.map(toRow), refused: refused.map(need => ({ ...toRow(need), isRefused: true })) }
}

export interface ShownRows {
  waiting: ShownEscalation[]
  refused: ShownEscalation[]
}

/** A need in the shape of a decision, with a number below zero that nobody can answer by. */
function rowWithoutDecision(need: Need): ShownEscalation {
  const { text, since, count, priority, session_id, task_id, project, title } = need
  const mark = Array.from(need.key).reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1e9, 7)
  return {
    ...{ number: -1 - mark, kind: 'error', session_id: session_id ?? '', project: project ?? '', task: title ?? '' },
    ...{ task_id, call_id: '', tool: 'session', target: text, input: {}, risk: 'LOW', reason: text, reasons: [] },
    ...{ normalised: '', priority, context: {}, deadline: null, on_deadline: 'keep_waiting', state: 'open', count },
    ...{ created_at: since, last_at: since, verdict: null, answer: null, answered_by: null, answered_at: null },
    ...{ answer_reason: null, allowed_until: null, used_at: null, again: false, need },
    sessions: session_id === null ? [] : [session_id],
  }
}

/** Whether it is answered by a number. */
export function isDecision({ need }: ShownEscalation): boolean {
  return need === undefined || need.number !== null
}

/** Whether work that is said to be done is in trouble: its target is the task's id and title. */
export function isLanding({ tool }: ShownEscalation): boolean {
  return tool === 'landing'
}

/** The id of the task of a review or of a landing, whose target is the task's id and title. */
export function reviewedTask({ target }: ShownEscalation): string {
  return firstLine(target).split(' ', 1).join('')
}

/** The full request as lines that are safe to print. */
export function wholeLines(row: ShownEscalation, width: number): string[] {
  if (row.kind === 'question') return questionLines(row, width - 2).map(line => `  ${line}`)
  return wrap(neutral(describeRequest(row)), width - 2).map(line => `  ${line}`)
}

/** The session that asked, and how many others wait for the same answer. */
export function sessionOf({ session_id, sessions, state, need, project }: ShownEscalation): string {
  if (session_id === '') return firstLine(need?.task_id ?? project.split('/').at(-1) ?? '')
  // Attempts at one task that were refused the same do not wait for one another.
  if (state === 'denied') return firstLine(session_id)
  return sessions.length > 1 ? `${firstLine(session_id)} +${sessions.length - 1}` : firstLine(session_id)
}

/** The kinds as the Type column shows them. */
const TYPES: Record<NeedKind, string> = {
  permission: 'Perm.',
  question: 'Q&A',
  review: 'Review',
  refused: 'Perm.',
  merge: 'Merge',
  gate: 'Gate',
  login: 'Login',
  credit: 'Credit',
  vendor: 'Vendor',
  trust: 'Trust',
  budget: 'Budget',
  error: 'Error',
  session: 'Paused',
  run: 'Run',
  feature: 'Feature',
  task: 'Failed',
}

export function typeOf({ kind, need }: ShownEscalation): string {
  return TYPES[need?.kind ?? kind]
}

/** The line below a request: the risk and why it waits, or the options of a question. */
export function belowOf(row: ShownEscalation): string {
  if (row.need && !isDecision(row)) return firstLine(nextLine(row.need))
  if (row.kind === 'question') return optionsLine(row)
  const times = row.count > 1 ? `, asked ${row.count} times` : ''
  if (row.kind === 'error') return `in session: ${firstLine(row.task)}${times}${othersOf(row)}`
  if (row.kind === 'review') return firstLine(row.reason)
  const state = row.state === 'denied' ? 'was refused' : 'waits'
  return `${row.risk} risk, ${state}${times}: ${firstLine(row.reason)}`
}

/** How many other tasks wait for the same reason. */
function othersOf({ need }: ShownEscalation): string {
  const others = need?.kind === 'gate' ? need.count - 1 : 0
  return others < 1 ? '' : `, and in ${others} more`
}

/** In fewer columns a list shows the questions alone: which session asks, and since when, stands elsewhere. */
export const NARROW = 60

/** Wider questions are cut to this. */
export const QUESTION_WIDTH = 60

export function shortQuestion(row: ShownEscalation): string {
  return cutAtWord(firstLine(questionOf(row)), QUESTION_WIDTH)
}

/** The request in one line. */
export function questionOf(row: ShownEscalation): string {
  if (row.kind === 'question') return questionLine(row)
  if (row.kind === 'error') return firstLine(row.reason)
  if (row.kind === 'review') return `May it be merged? ${firstLine(row.target)}`
  return `Approve: ${describeRequest(row)}`
}

/** A Bash command is shown alone; other tools are shown with their name. Without a normalised form, the input is shown. */
function describeRequest({ kind, reason, tool, target, normalised, input }: ShownEscalation): string {
  if (kind === 'error') return reason
  if (kind === 'review') return `May it be merged? ${target}`
  if (tool === 'Bash' && typeof input['command'] === 'string') return describeInput({ tool, target, input })
  if (tool === 'Bash' && normalised.startsWith('Bash ')) return normalised.slice('Bash '.length)
  return normalised === tool ? `${tool} ${JSON.stringify(input)}` : normalised
}

type AskedQuestion = Pick<Escalation, 'kind' | 'input' | 'target'>

const Input = z.object({ questions: z.array(QuestionItem).min(1) })

/** The questions stored in the row; none when they were too long to be stored. */
function readQuestions({ kind, input }: AskedQuestion): QuestionItem[] {
  return kind === 'question' ? (Input.safeParse(input).data?.questions ?? []) : []
}

/** What stands for the answers in a command: one for each part of a question. */
export function answerPlaces(row: AskedQuestion): string[] {
  return readQuestions(row).map((_, index) => `"answer ${index + 1}"`)
}

/** A question in one line. */
function questionLine(row: AskedQuestion): string {
  const [first, ...more] = readQuestions(row)
  const text = firstLine(first?.question ?? row.target)
  return more.length === 0 ? text : `${text} (and ${more.length} more)`
}

/** The numbered options of the first question in one line. */
function optionsLine(row: AskedQuestion): string {
  const [first] = readQuestions(row)
  if (!first || first.options.length === 0) return 'answer in words'
  return first.options.map(({ label }, index) => `[${index + 1}] ${firstLine(label)}`).join('  ')
}

/** Whether the question and its options do not fit on one line each. */
export function needsSeveralLines(row: AskedQuestion): boolean {
  if (row.kind !== 'question') return false
  const questions = readQuestions(row)
  const hasDescriptions = questions.some(({ options }) => options.some(({ description }) => description !== ''))
  const isLong = questions.some(({ multiSelect, question }) => multiSelect || question.trim().includes('\n'))
  return questions.length !== 1 || hasDescriptions || isLong
}

/** All questions with their numbered options, wrapped and safe to print. */
function questionLines(row: AskedQuestion, width: number): string[] {
  const questions = readQuestions(row)
  if (questions.length === 0)
    return wrap(`${neutral(row.target)} (too long to show here: answer with pcc attach)`, width)
  return questions.flatMap(({ question, options, multiSelect }) => [
    ...wrap(`${neutral(question)}${multiSelect ? ' (several may be chosen: 1,2)' : ''}`, width),
    ...choiceLines(options, width),
  ])
}

/** The options of the first question. */
export function optionLines(row: AskedQuestion, width: number): string[] {
  return choiceLines(readQuestions(row)[0]?.options ?? [], width)
}

function choiceLines(options: QuestionItem['options'], width: number): string[] {
  return options.flatMap(({ label, description }, index) => {
    const text = `[${index + 1}] ${firstLine(label)}${description ? ` — ${neutral(description)}` : ''}`
    return wrap(text, width - 2).map(line => `  ${line}`)
  })
}

/** What a request holds besides its one line: the lines that an editing tool would remove and add, and all other fields. */
export function changeLines(row: EscalationView, width: number): string[] {
  const { kind, tool, input } = row
  if (kind !== 'permission' || (tool === 'Bash' && typeof input['command'] === 'string')) return []
  const { edits, ...whole } = input
  const request = describeRequest(row)
  const changes = [whole, ...(Array.isArray(edits) ? (edits as unknown[]) : [])]
  const lines = changes.flatMap(edit => editLines(edit, request)).flatMap(line => wrap(neutral(line), width - 2))
  const note = isCutInput(input) ? [NOT_WHOLE] : []
  if (lines.length === 0) return note
  return ['Change:', ...lines.map(line => `  ${line}`), ...note]
}

/** Fields that the request itself shows are left out. */
function editLines(edit: unknown, request: string): string[] {
  if (typeof edit !== 'object' || edit === null) return []
  const { old_string, new_string, content, new_source, ...others } = edit as Record<string, unknown>
  const { file_path: _file, notebook_path: _notebook, path: _path, ...rest } = others
  const hidden = Object.entries(rest).filter(([, value]) => !request.includes(String(value)))
  return [
    ...(request.includes(JSON.stringify(edit)) ? [] : listFields(Object.fromEntries(hidden))),
    ...prefixLines('-', old_string),
    ...[new_string, content, new_source].flatMap(text => prefixLines('+', text)),
  ]
}

function prefixLines(mark: string, text: unknown): string[] {
  return typeof text === 'string' && text !== '' ? text.split('\n').map(line => `${mark} ${line}`) : []
}

/** The context of a request: what it would change, the task, the last steps, the brain's suggestion and the deadline. */
export function contextLines(row: EscalationView, { width, now }: { width: number; now: number }): string[] {
  const { task, context, sessions } = row
  const steps = context.steps ?? []
  const suggestion = suggestionLine(context.suggestion)
  return [
    ...changeLines(row, width),
    ...(task === '' ? [] : wrap(`Task: ${firstLine(task)}`, width)),
    ...(steps.length > 0 ? ['Just before:', ...steps.flatMap(step => wrap(`  - ${firstLine(step)}`, width))] : []),
    ...(sessions.length > 1 ? wrap(`Waits for it: ${sessions.join(', ')}`, width) : []),
    ...(suggestion === undefined ? [] : wrap(suggestion, width)),
    ...(suggestion !== undefined && context.suggestion?.reasoning
      ? wrap(`  ${neutral(context.suggestion.reasoning)}`, width)
      : []),
    ...deadlineLine(row, now),
  ]
}

function deadlineLine({ state, kind, deadline, on_deadline }: EscalationView, now: number): string[] {
  if (state !== 'open' || deadline === null || on_deadline === 'keep_waiting') return []
  const consequence =
    on_deadline === 'take_suggestion'
      ? 'the suggestion is taken'
      : kind === 'question'
        ? 'the agent decides'
        : 'it is refused'
  return [`Unanswered until ${wakeTime(deadline, now)}: ${consequence}`]
}

/** Further rows are only counted; the inbox shows them all. */
const MOST_ROWS = 5

/** What waits for the person, in the given order, and how to answer it; empty when nothing waits. */
export function needsYouLines(reply: NeedsReply, terminal: Terminal, now: number): string[] {
  const { waiting: rows, refused } = shownRows(reply)
  const refusedLine =
    refused.length === 0 ? [] : [`${refused.length} ${refused.length === 1 ? 'was' : 'were'} refused: pcc pending`]
  if (rows.length === 0) return refusedLine
  const shown = rows.slice(0, MOST_ROWS)
  const sessionWidth = Math.max(...shown.map(row => widthOf(sessionOf(row))))
  return [
    terminal.paint('yellow', thingsWait(rows.length)),
    ...shown.map(row => {
      const number = (isDecision(row) ? String(row.number) : '–').padStart(4)
      const question = firstLine(questionOf(row))
      if (terminal.width < NARROW) return `${number}  ${cutAtWord(question, terminal.width - 6)}`
      const head = `${number}  ${pad(typeOf(row), 7)}  ${pad(sessionOf(row), sessionWidth)}  `
      const room = Math.max(16, Math.min(QUESTION_WIDTH, terminal.width - widthOf(head) - 12))
      return `${head}${pad(cutAtWord(question, room), room)}  ${ago(now - row.created_at)}`
    }),
    ...(rows.length > MOST_ROWS ? [`      and ${rows.length - MOST_ROWS} more`] : []),
    'Work through them by keys: pcc inbox',
    ...refusedLine,
  ]
}
