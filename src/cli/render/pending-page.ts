import { stripVTControlCharacters } from 'node:util'
import { neutral } from '../../base/neutral.ts'
import type { RefusedSpeaker } from '../../domain/api.ts'
import { isCutInput } from '../../domain/shown-request.ts'
import { suggestionLine } from './ask-lines.ts'
import {
  answerPlaces,
  belowOf,
  changeLines,
  isDecision,
  isLanding,
  needsSeveralLines,
  optionLines,
  QUESTION_WIDTH,
  questionOf,
  reviewedTask,
  type ShownEscalation,
  type ShownRows,
  sessionOf,
  shortQuestion,
  typeOf,
  wholeLines,
} from './escalation-lines.ts'
import { ago } from './format.ts'
import { boxTable, type Cell } from './list-table.ts'
import { cutAtWord, type Terminal, wrap } from './text.ts'

const HEADINGS = ['#', 'Session', 'Type', 'Question', 'Waiting']
const QUESTION = HEADINGS.indexOf('Question')

interface PendingPage {
  terminal: Terminal
  now: number
}

/** The page of `pcc pending`: what waits, and below it what was refused because nobody was there. */
export function pendingLines({ waiting, refused }: ShownRows, page: PendingPage): string[] {
  const heading = 'Refused because nobody was there; nothing waits for your answer:'
  return [
    ...(waiting.length === 0
      ? ['Nothing waits for you.']
      : ['Waiting for you:', ...listLines(waiting, page), '', ...responseHints(waiting, page.terminal.width)]),
    ...(refused.length === 0 ? [] : ['', heading, ...listLines(refused, page), '', ...refusedHints(refused)]),
  ]
}

/** What the table cuts is shown in full below it: nobody should approve what they have not seen. */
function listLines(waiting: ShownEscalation[], { terminal, now }: PendingPage): string[] {
  const rows = waiting.flatMap(row => tableRows(row, now))
  const table = boxTable({ headings: HEADINGS, rows, terminal, giveWay: [[QUESTION, 16]] })
  const plain = (text: string) => ` ${stripVTControlCharacters(text).replace(/\s+/g, ' ').trim()} `
  const shown = plain(table.join(' '))
  const fits = (text: string) => shown.includes(plain(text))
  const needsFullText = waiting.filter(
    row =>
      !fits(questionOf(row)) ||
      (row.kind === 'error' && row.reason.includes('\n')) ||
      ((row.kind === 'question' || !isDecision(row)) && !fits(belowOf(row))) ||
      needsSeveralLines(row) ||
      changeLines(row, terminal.width).length > 0,
  )
  const texts = Map.groupBy(needsFullText, row => fullLines(row, terminal.width).join('\n'))
  return [
    ...table,
    ...[...texts].flatMap(([text, rows]) => ['', `${listNames(rows.map(nameOf))} in full:`, ...text.split('\n')]),
  ]
}

/** `3`, or the type of what has no number. */
function nameOf(row: ShownEscalation): string {
  return isDecision(row) ? String(row.number) : typeOf(row)
}

/** `3, 4 and 5` */
function listNames(names: string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

function fullLines(row: ShownEscalation, width: number): string[] {
  const whole = wholeLines(row, width)
  const rest = whole.length - MOST_WHOLE_LINES
  const more = `  … ${rest} more lines; all of them: pcc respond ${row.number} --interactive`
  return [
    // What a person may approve is never cut: only a question may be.
    ...(row.kind === 'question' && rest > 1
      ? [...whole.slice(0, MOST_WHOLE_LINES), more, ...optionLines(row, width - 2).map(line => `  ${line}`)]
      : whole),
    ...(isDecision(row) ? [] : wrap(neutral(belowOf(row)), width - 2).map(line => `  ${line}`)),
    ...firstChanges(row, width - 2).map(line => `  ${line}`),
  ]
}

const MOST_WHOLE_LINES = 24

/** Who tried to speak for the person within a week: when, from which session, what, by which program. */
export function refusedSpeakerLines(
  refused: RefusedSpeaker[],
  { width, now }: { width: number; now: number },
): string[] {
  if (refused.length === 0) return []
  const lines = refused.map(({ at, session_id, what, command, pid, count }) => {
    const often = count === 1 ? '' : `, ${count} times`
    return `  ${ago(now - at)}  ${session_id ?? 'no session'}  ${what} by ${command} (pid ${pid})${often}`
  })
  return ['', 'Tried to speak for you, and was refused:', ...lines.flatMap(line => wrap(neutral(line), width))]
}

/** The lines of a change that a list shows; who wants to say yes reads the rest first. */
function firstChanges(row: ShownEscalation, width: number): string[] {
  const lines = changeLines(row, width)
  if (lines.length <= MOST_CHANGED_LINES + 1) return lines
  const more = `  … ${lines.length - MOST_CHANGED_LINES - 1} more lines; all of them: pcc respond ${row.number} --interactive`
  return [...lines.slice(0, MOST_CHANGED_LINES + 1), more]
}

/** Whether the list shows all that the request would do. */
function isListedWhole(row: ShownEscalation, width: number): boolean {
  return !isCutInput(row.input) && changeLines(row, width - 2).length <= MOST_CHANGED_LINES + 1
}

/** The commands that answer the first row of each kind. What is no decision says in its row what to type. */
function responseHints(rows: ShownEscalation[], width: number): string[] {
  const waiting = rows.filter(isDecision)
  if (waiting.length === 0) return []
  const review = waiting.find(({ kind }) => kind === 'review')
  const questions = Map.groupBy(
    waiting.filter(({ kind }) => kind === 'question'),
    row => answerPlaces(row).length > 1,
  )
  const yesOrNo = (['permission', 'error'] as const).flatMap(wanted => {
    const rows = waiting.filter(({ kind }) => kind === wanted)
    const shown = rows.find(row => isListedWhole(row, width))
    const [row = shown] = shown ? [shown] : rows
    if (!row) return []
    const { yes, no } = meaningOf(row)
    // A yes is refused as long as the budget is spent.
    if (row.need?.kind === 'budget') return [row.need.next, `pcc respond ${row.number} --deny${no}`]
    const approve = `pcc respond ${row.number} --approve${row.again ? ' --again' : ''}${yes}`
    return [...(shown ? [approve] : []), `pcc respond ${row.number} --deny${no}`]
  })
  const commands = [
    ...yesOrNo,
    ...(review ? [`pcc review ${reviewedTask(review)}`] : []),
    ...[false, true].flatMap(hasParts => {
      const [row] = questions.get(hasParts) ?? []
      const words = hasParts && row ? answerPlaces(row).join(' ') : '"your words, or the number of an option"'
      return row ? [`pcc respond ${row.number} ${words}`] : []
    }),
  ]
  return [
    ...commands.map((command, index) => `${index === 0 ? 'Respond with' : '          or'}: ${command}`),
    `Or interactive: pcc respond ${waiting[0]?.number} --interactive`,
  ]
}

/** What a yes and a no to trouble do; of a request they are plain. */
function meaningOf(row: ShownEscalation): { yes: string; no: string } {
  if (row.kind !== 'error') return { yes: '', no: '' }
  const count = row.need?.kind === 'gate' ? row.need.count : 1
  if (count > 1) return { yes: `   (tries all ${count} again)`, no: '   (gives up the task of this session alone)' }
  return { yes: '   (tries it again)', no: isLanding(row) ? '   (gives the task up)' : '   (leaves it as it is)' }
}

function refusedHints(refused: ShownEscalation[]): string[] {
  const once = refused.find(({ again }) => again)
  if (once) return [`Allow exactly this once and do its task again: pcc respond ${once.number} --approve --again`]
  const kept = refused.find(({ risk }) => risk !== 'HIGH')
  if (kept) return [`Your word counts for the next time: pcc respond ${kept.number} --approve`]
  return [`What you can do about it: pcc respond ${refused[0]?.number} --approve`]
}

function tableRows(row: ShownEscalation, now: number): Cell[][] {
  const below: Cell = {
    text: cutAtWord(belowOf(row), isDecision(row) ? QUESTION_WIDTH : QUESTION_WIDTH + 30),
    tone: row.risk === 'HIGH' ? 'red' : 'yellow',
  }
  const blank: Cell = { text: '' }
  const suggestion = suggestionLine(row.context.suggestion)
  return [
    [
      { text: isDecision(row) ? String(row.number) : '–' },
      { text: sessionOf(row) },
      { text: typeOf(row) },
      { text: shortQuestion(row) },
      { text: ago(now - row.created_at) },
    ],
    [blank, blank, blank, below, blank],
    ...(suggestion === undefined
      ? []
      : [[blank, blank, blank, { text: cutAtWord(suggestion, QUESTION_WIDTH) }, blank]]),
  ]
}

const MOST_CHANGED_LINES = 24
