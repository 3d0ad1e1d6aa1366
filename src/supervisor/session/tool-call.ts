import { createHash } from 'node:crypto'
import { isAbsolute, relative } from 'node:path'
import { type Assessment, UNLISTED } from '../../domain/assessment.ts'
import type { EscalationAnswer } from '../../domain/escalation.ts'
import type { Answer, QuestionItem, StoredReason } from '../../domain/session.ts'
import type { Parked, ParkedPermission, ParkedQuestion, SessionRow } from '../../store/tables.ts'

/** What a tool call is aimed at, short enough for one line: the file, the command, the pattern, the address. */
export function targetOf(input: Record<string, unknown>, project: string): string {
  for (const key of PATH_KEYS) {
    const path = input[key]
    if (typeof path === 'string' && path !== '') return withPattern(input, shortPath(path, project))
  }
  for (const key of TEXT_KEYS) {
    const text = input[key]
    if (typeof text === 'string' && text !== '') return oneLine(text)
  }
  return ''
}

const PATH_KEYS = ['file_path', 'notebook_path', 'path']
const TEXT_KEYS = [
  'command',
  'pattern',
  'url',
  'query',
  'title',
  'description',
  'subject',
  'skill',
  'plan',
  'prompt',
  'task_id',
  'task',
  'text',
]

/** Long enough for a command worth reading, short enough for a line of a log. */
const MAX_TARGET = 200

function withPattern(input: Record<string, unknown>, path: string): string {
  const pattern = input['pattern']
  return typeof pattern === 'string' ? oneLine(`${pattern} in ${path}`) : oneLine(path)
}

function shortPath(path: string, project: string): string {
  if (!isAbsolute(path)) return path
  const inside = relative(project, path)
  return inside === '' ? '.' : inside.startsWith('..') ? path : inside
}

function oneLine(text: string): string {
  // A line break ends a command: it is shown, so that two commands do not look like one.
  const line = text
    .trim()
    .replace(/\s*\n\s*/g, ' ⏎ ')
    .replace(/\s+/g, ' ')
  return line.length > MAX_TARGET ? `${line.slice(0, MAX_TARGET - 1)}…` : line
}

/** A hash of one call with its whole input, independent of the order of fields: an answer is for that call alone. */
export function callDigest(tool: string, input: Record<string, unknown>): string {
  return createHash('sha256')
    .update(JSON.stringify([tool, input], sortFields))
    .digest('hex')
}

export function sortFields(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** More than anybody reads back from a log; the whole text is in the agent's own transcript. */
const MAX_STORED_TEXT = 20_000

/** A text cut to `max` characters, with a note of how much was cut. */
export function capText(text: string, max = MAX_STORED_TEXT): string {
  if (text.length <= max) return text
  return `${text.slice(0, max)}\n… (cut: ${text.length - max} more characters)`
}

/** A tool's input with every long text cut, at any depth. */
export function capInput(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, capValue(value, 0)]))
}

function capValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return capText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '… (cut)'
  if (Array.isArray(value)) return value.map(item => capValue(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, capValue(item, depth + 1)]))
}

/** Inputs of tools are shallow; deeper ones are cut. */
const MAX_DEPTH = 8

/** Enough reasons to understand a verdict; those of the rest of a long script repeat them. */
const MOST = 8
const MOST_WITH_PACKAGES = 50
const LONGEST = 300

/** The reasons of a request as they are stored and shown, highest first and capped. */
export function storedReasons(assessment: Assessment | undefined): StoredReason[] {
  // The report names every package that no lock file named.
  const kept = (assessment?.reasons ?? []).filter(({ code }, at) => at < MOST || code === UNLISTED)
  return kept.slice(0, MOST_WITH_PACKAGES).map(({ code, risk, text }) => ({
    code,
    risk,
    text: text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text,
  }))
}

/** The answer with which a parked session is started again. */
export type GivenAnswer = GivenToQuestion | GivenToPermission

interface GivenToQuestion {
  callId: string
  questions: QuestionItem[]
  answer: Answer
}

interface GivenToPermission {
  callId: string
  /** The digest of the call as the person saw it. */
  digest: string
  /** The files that were read to judge it, each with a hash. */
  files: Assessment['files']
  verdict: 'allow' | 'deny'
  reason?: string | undefined
  by: string
  /** The agent gave up the call and was told to make it again; the answer counts once, under any call id. */
  anew?: true
}

/** A person's answer to a parked call, in the form that the call will look for. */
export function givenAnswer(parked: Parked, answer: EscalationAnswer): GivenAnswer {
  const callId = parked.call_id
  if (!isPermission(parked))
    return { callId, questions: parked.questions, answer: answersByQuestion(parked.questions, answer) }
  const { verdict, reason, by } = answer
  const anew = parked.taken && { anew: true as const }
  const { digest, files } = parked
  // Anything but a clear yes is a no.
  return { callId, digest, files, verdict: verdict === 'allow' ? 'allow' : 'deny', reason, by, ...anew }
}

/** The answers keyed by the text of the questions, as the agent expects them. */
export function answersByQuestion(questions: QuestionItem[], { answer, reason, by }: EscalationAnswer): Answer {
  if (!answer) return { declined: reason ?? 'the person does not want to answer; decide yourself', by }
  return { answers: Object.fromEntries(questions.map(({ question }, index) => [question, answer[index] ?? ''])), by }
}

/** The members of a live session that have to do with the answer it was started with. */
interface AnswerHolder {
  agent: { answer: GivenAnswer | undefined; answeredQuestion: ParkedQuestion | undefined }
  row: SessionRow
}

/**
 * Keeps an answer that could not be stored (the disk was full). The agent got a failure in its place and the call is over, so
 * the answer is sent as a prompt when the session resumes, or given when the model asks the same again.
 */
export function keepAnswerForLater(live: AnswerHolder, given: GivenAnswer): void {
  live.agent.answer = given
  live.agent.answeredQuestion = undefined
  if (live.row.parked) live.row = { ...live.row, parked: { ...live.row.parked, taken: true } }
}

/** Whether a permission request is parked, not a question. */
export function isPermission(parked: Parked): parked is ParkedPermission {
  return 'digest' in parked
}
