import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Escalation } from '../../domain/escalation.ts'
import type { EventOf, StoredEvent } from '../../domain/event.ts'
import { QuestionItem } from '../../domain/session.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Decision, Notice } from './notice.ts'
import { budgetNotice } from './notices/budget-notice.ts'
import { reportNotice } from './notices/report-notice.ts'
import { runNotice } from './notices/run-notice.ts'
import { plain, plainLine } from './plain.ts'

const LONGEST_TITLE = 120
const LONGEST_TEXT = 800
/** "First lines": enough to know how it went; the rest is one command away. */
const RESULT_LINES = 6

export interface NoticeParts {
  store: Pick<Store, 'sessions' | 'escalations' | 'events' | 'runs'>
  /** Values that never leave the machine. */
  hidden: readonly string[]
}

/** What an event is worth telling people; nothing for most. */
export async function noticesOf(event: StoredEvent, parts: NoticeParts): Promise<Notice[]> {
  switch (event.kind) {
    case 'question.parked':
    case 'permission.parked':
      return parkedNotice(event, parts)
    case 'question.asked':
    case 'permission.asked':
      return [{ ...(await askedNotice(event, parts)), bellOnly: true }]
    case 'session.noted':
      // An answer that did not reach its session is asked again under its number: of that only this note tells.
      return event.body.unheard || !(await isAsking(event.subject, parts)) ? openDecisions(event.subject, parts) : []
    case 'session.ended':
      return endedNotice(event, parts)
    case 'run.ended':
      return (await runNotice(event, parts)).map(made => notice(made, parts))
    case 'report.made':
      return [reportNotice(event)].filter(made => made !== undefined).map(made => notice(made, parts))
    case 'limit.hit':
      return [await limitNotice(event, parts)]
    case 'budget.warned':
    case 'budget.spent':
      return [budgetNotice(event)].filter(made => made !== undefined).map(made => notice(made, parts))
    default:
      return []
  }
}

/** Of the row as it was made: the same number of another database has another one. */
export function markOf({ number, fingerprint, created_at }: Escalation): string {
  return createHash('sha256').update(`${number} ${fingerprint} ${created_at}`).digest('hex').slice(0, 12)
}

async function parkedNotice(
  { id, subject, body }: EventOf<'question.parked'> | EventOf<'permission.parked'>,
  parts: NoticeParts,
): Promise<Notice[]> {
  const found = body.number === undefined ? undefined : await parts.store.escalations.get(body.number)
  if (found) return found.state === 'open' ? [decisionNotice(found, await sessionOf(subject, parts), parts)] : []
  const asks =
    'questions' in body ? body.questions.map(({ question }) => question).join(' ') : `${body.tool} ${body.target}`
  return [
    notice(
      { kind: 'question', key: `parked:${id}`, title: await titled('waits for you', subject, parts), text: asks },
      parts,
    ),
  ]
}

/** What a terminal asks is told elsewhere when nobody answers there, and not before. */
async function isAsking(session: string, parts: NoticeParts): Promise<boolean> {
  return (await sessionOf(session, parts))?.state === 'asking'
}

async function openDecisions(session: string, parts: NoticeParts): Promise<Notice[]> {
  const open = await parts.store.escalations.list({ session, states: ['open'] })
  if (open.length === 0) return []
  const row = await sessionOf(session, parts)
  return open.map(each => decisionNotice(each, row, parts))
}

function decisionNotice(found: Escalation, session: SessionRow | undefined, parts: NoticeParts): Notice {
  const questions = questionsIn(found)
  const [only] = questions.length === 1 ? questions : []
  const decision: Decision = {
    number: found.number,
    mark: markOf(found),
    kind: found.kind,
    options: (only?.options ?? []).map(({ label }) => plainLine(label, 60, parts.hidden)),
    parts: Math.max(1, questions.length),
  }
  const title = `${HEADINGS[found.kind]} (decision ${found.number}) · ${placeOf(session, found.project)}`
  const text = [
    ...(found.kind === 'question' ? questionLines(questions, found, parts) : requestLines(found, parts)),
    ...suggestionLines(found, parts),
    `Task: ${plainLine(found.task, 160, parts.hidden)}`,
    found.kind === 'question'
      ? `Answer: pcc respond ${found.number} "…"`
      : `Answer: pcc respond ${found.number} --approve, or --deny`,
  ].join('\n')
  const kind = found.kind === 'error' ? 'error' : 'question'
  return notice({ kind, key: `decision:${found.number}`, title, text, decision }, parts)
}

const HEADINGS = {
  question: 'Question',
  permission: 'Permission wanted',
  error: 'Failed',
  review: 'Review wanted',
} as const

function questionsIn({ kind, input }: Escalation): QuestionItem[] {
  const read = QuestionItem.array().safeParse(input['questions'])
  return kind === 'question' && read.success ? read.data : []
}

function questionLines(questions: QuestionItem[], { target }: Escalation, { hidden }: NoticeParts): string[] {
  if (questions.length === 0) return [target]
  return questions.flatMap(({ question, options }) => [
    plainLine(question, 400, hidden),
    ...options.map(({ label, description }, index) => {
      const about = description === '' ? '' : ` – ${description}`
      return `  ${index + 1}. ${plainLine(`${label}${about}`, 120, hidden)}`
    }),
  ])
}

function requestLines({ kind, tool, target, risk, reason }: Escalation, { hidden }: NoticeParts): string[] {
  if (kind === 'error') return [plainLine(reason, 300, hidden)]
  return [`${tool}: ${plainLine(target, 300, hidden)}`, `Risk ${risk}: ${plainLine(reason, 200, hidden)}`]
}

function suggestionLines({ context }: Escalation, { hidden }: NoticeParts): string[] {
  const { suggestion } = context
  if (!suggestion) return []
  const answer = suggestion.answer.map(each => [each].flat().join(', ')).join('; ')
  return [
    `Suggested: ${plainLine(answer, 120, hidden)} (${suggestion.by}, ${Math.round(suggestion.confidence * 100)} %)`,
  ]
}

async function askedNotice(
  { id, subject }: EventOf<'question.asked'> | EventOf<'permission.asked'>,
  parts: NoticeParts,
): Promise<Notice> {
  const title = await titled('asks you', subject, parts)
  return notice({ kind: 'question', key: `asked:${id}`, title, text: '' }, parts)
}

async function endedNotice({ id, subject, body }: EventOf<'session.ended'>, parts: NoticeParts): Promise<Notice[]> {
  // What becomes of its task is the run's to tell, once, at its end.
  if ((await sessionOf(subject, parts))?.options.run) return openDecisions(subject, parts)
  if (body.status !== 'completed') {
    // What was tried often enough stands still, as if paused, and waits for a person's word: they must hear of it.
    const open = await openDecisions(subject, parts)
    if (open.length > 0 || body.status !== 'error') return open
    const title = await titled('failed', subject, parts)
    return [notice({ kind: 'error', key: `ended:${id}`, title, text: body.reason }, parts)]
  }
  const [turn] = await parts.store.events({ subject, kinds: ['turn.ended'], tail: 1 })
  const said = turn?.kind === 'turn.ended' ? firstLines(turn.body.text) : ''
  const row = await sessionOf(subject, parts)
  const text = [row ? `Task: ${plainLine(row.task, 160, parts.hidden)}` : '', said || body.reason]
    .filter(Boolean)
    .join('\n')
  return [
    notice({ kind: 'complete', key: `ended:${id}`, title: await titled('completed', subject, parts), text }, parts),
  ]
}

function firstLines(text: string): string {
  const lines = text.split('\n').map(line => line.trimEnd())
  return lines
    .filter(line => line !== '')
    .slice(0, RESULT_LINES)
    .join('\n')
}

/** Sessions of one account meet the same limit one after the other: it is told once. */
async function limitNotice({ time, subject, body }: EventOf<'limit.hit'>, parts: NoticeParts): Promise<Notice> {
  const hour = Math.floor(time / 3_600_000)
  const key = `limit:${body.window ?? ''}:${body.resets_at ?? `hour ${hour}`}`
  const resets =
    body.resets_at === undefined ? '' : `\nIt resets at ${new Date(body.resets_at).toLocaleString('en-GB')}.`
  const title = await titled('met a limit', subject, parts)
  return notice({ kind: 'rate_limit', key, title, text: `${body.message}${resets}` }, parts)
}

async function titled(what: string, session: string, parts: NoticeParts): Promise<string> {
  const row = await sessionOf(session, parts)
  return `${placeOf(row, undefined)} ${what}`
}

function placeOf(row: SessionRow | undefined, project: string | undefined): string {
  if (row) return `${row.name} in ${basename(row.project)}`
  return project === undefined ? 'A session' : basename(project)
}

function sessionOf(id: string, { store }: NoticeParts): Promise<SessionRow | undefined> {
  return store.sessions.get(id)
}

function notice(made: Notice, { hidden }: NoticeParts): Notice {
  return { ...made, title: plainLine(made.title, LONGEST_TITLE, hidden), text: plain(made.text, LONGEST_TEXT, hidden) }
}
