import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { RunOutcome } from '../../domain/attempt.ts'
import { amountWords, budgetWords } from '../../domain/budget.ts'
import type { Escalation } from '../../domain/escalation.ts'
import type { EventOf, StoredEvent } from '../../domain/event.ts'
import type { RunTarget } from '../../domain/run.ts'
import { QuestionItem } from '../../domain/session.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { type Notice, type NoticeDecision, type NoticeKind, toSafeLine, toSafeText } from './notice.ts'

const LONGEST_TITLE = 120
const LONGEST_TEXT = 800
/** "First lines": enough to know how it went; the rest is one command away. */
const RESULT_LINES = 6

export interface NoticeDeps {
  store: Pick<Store, 'sessions' | 'escalations' | 'events' | 'runs'>
  /** Values that never leave the machine. */
  hidden: readonly string[]
}

/** What an event is worth telling people; nothing for most. */
export async function buildNotices(event: StoredEvent, deps: NoticeDeps): Promise<Notice[]> {
  switch (event.kind) {
    case 'question.parked':
    case 'permission.parked':
      return parkedNotice(event, deps)
    case 'question.asked':
    case 'permission.asked':
      return [{ ...(await askedNotice(event, deps)), bellOnly: true }]
    case 'session.noted':
      // An answer that did not reach its session is asked again under its number: of that only this note tells.
      return event.body.unheard || !(await isAsking(event.subject, deps)) ? openDecisions(event.subject, deps) : []
    case 'session.ended':
      return endedNotice(event, deps)
    case 'run.ended':
      return (await runNotice(event, deps)).map(made => notice(made, deps))
    case 'report.made':
      return [reportNotice(event)].filter(made => made !== undefined).map(made => notice(made, deps))
    case 'limit.hit':
      return [await limitNotice(event, deps)]
    case 'budget.warned':
    case 'budget.spent':
      return [budgetNotice(event)].filter(made => made !== undefined).map(made => notice(made, deps))
    default:
      return []
  }
}

/** Of the row as it was made: the same number of another database has another one. */
export function markDecision({ number, fingerprint, created_at }: Escalation): string {
  return createHash('sha256').update(`${number} ${fingerprint} ${created_at}`).digest('hex').slice(0, 12)
}

async function parkedNotice(
  { id, subject, body }: EventOf<'question.parked'> | EventOf<'permission.parked'>,
  deps: NoticeDeps,
): Promise<Notice[]> {
  const found = body.number === undefined ? undefined : await deps.store.escalations.get(body.number)
  if (found) return found.state === 'open' ? [decisionNotice(found, await sessionOf(subject, deps), deps)] : []
  const asks =
    'questions' in body ? body.questions.map(({ question }) => question).join(' ') : `${body.tool} ${body.target}`
  return [
    notice(
      { kind: 'question', key: `parked:${id}`, title: await titled('waits for you', subject, deps), text: asks },
      deps,
    ),
  ]
}

/** What a terminal asks is told elsewhere when nobody answers there, and not before. */
async function isAsking(session: string, deps: NoticeDeps): Promise<boolean> {
  return (await sessionOf(session, deps))?.state === 'asking'
}

async function openDecisions(session: string, deps: NoticeDeps): Promise<Notice[]> {
  const open = await deps.store.escalations.list({ session, states: ['open'] })
  if (open.length === 0) return []
  const row = await sessionOf(session, deps)
  return open.map(each => decisionNotice(each, row, deps))
}

function decisionNotice(found: Escalation, session: SessionRow | undefined, deps: NoticeDeps): Notice {
  const questions = questionsIn(found)
  const [only] = questions.length === 1 ? questions : []
  const decision: NoticeDecision = {
    number: found.number,
    mark: markDecision(found),
    kind: found.kind,
    options: (only?.options ?? []).map(({ label }) => toSafeLine(label, 60, deps.hidden)),
    deps: Math.max(1, questions.length),
  }
  const title = `${HEADINGS[found.kind]} (decision ${found.number}) · ${placeOf(session, found.project)}`
  const text = [
    ...(found.kind === 'question' ? questionLines(questions, found, deps) : requestLines(found, deps)),
    ...suggestionLines(found, deps),
    `Task: ${toSafeLine(found.task, 160, deps.hidden)}`,
    found.kind === 'question'
      ? `Answer: pcc respond ${found.number} "…"`
      : `Answer: pcc respond ${found.number} --approve, or --deny`,
  ].join('\n')
  const kind = found.kind === 'error' ? 'error' : 'question'
  return notice({ kind, key: `decision:${found.number}`, title, text, decision }, deps)
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

function questionLines(questions: QuestionItem[], { target }: Escalation, { hidden }: NoticeDeps): string[] {
  if (questions.length === 0) return [target]
  return questions.flatMap(({ question, options }) => [
    toSafeLine(question, 400, hidden),
    ...options.map(({ label, description }, index) => {
      const about = description === '' ? '' : ` – ${description}`
      return `  ${index + 1}. ${toSafeLine(`${label}${about}`, 120, hidden)}`
    }),
  ])
}

function requestLines({ kind, tool, target, risk, reason }: Escalation, { hidden }: NoticeDeps): string[] {
  if (kind === 'error') return [toSafeLine(reason, 300, hidden)]
  return [`${tool}: ${toSafeLine(target, 300, hidden)}`, `Risk ${risk}: ${toSafeLine(reason, 200, hidden)}`]
}

function suggestionLines({ context }: Escalation, { hidden }: NoticeDeps): string[] {
  const { suggestion } = context
  if (!suggestion) return []
  const answer = suggestion.answer.map(each => [each].flat().join(', ')).join('; ')
  return [
    `Suggested: ${toSafeLine(answer, 120, hidden)} (${suggestion.by}, ${Math.round(suggestion.confidence * 100)} %)`,
  ]
}

async function askedNotice(
  { id, subject }: EventOf<'question.asked'> | EventOf<'permission.asked'>,
  deps: NoticeDeps,
): Promise<Notice> {
  const title = await titled('asks you', subject, deps)
  return notice({ kind: 'question', key: `asked:${id}`, title, text: '' }, deps)
}

async function endedNotice({ id, subject, body }: EventOf<'session.ended'>, deps: NoticeDeps): Promise<Notice[]> {
  // What becomes of its task is the run's to tell, once, at its end.
  if ((await sessionOf(subject, deps))?.options.run) return openDecisions(subject, deps)
  if (body.status !== 'completed') {
    // What was tried often enough stands still, as if paused, and waits for a person's word: they must hear of it.
    const open = await openDecisions(subject, deps)
    if (open.length > 0 || body.status !== 'error') return open
    const title = await titled('failed', subject, deps)
    return [notice({ kind: 'error', key: `ended:${id}`, title, text: body.reason }, deps)]
  }
  const [turn] = await deps.store.events({ subject, kinds: ['turn.ended'], tail: 1 })
  const said = turn?.kind === 'turn.ended' ? firstLines(turn.body.text) : ''
  const row = await sessionOf(subject, deps)
  const text = [row ? `Task: ${toSafeLine(row.task, 160, deps.hidden)}` : '', said || body.reason]
    .filter(Boolean)
    .join('\n')
  return [notice({ kind: 'complete', key: `ended:${id}`, title: await titled('completed', subject, deps), text }, deps)]
}

function firstLines(text: string): string {
  const lines = text.split('\n').map(line => line.trimEnd())
  return lines
    .filter(line => line !== '')
    .slice(0, RESULT_LINES)
    .join('\n')
}

/** Sessions of one account meet the same limit one after the other: it is told once. */
async function limitNotice({ time, subject, body }: EventOf<'limit.hit'>, deps: NoticeDeps): Promise<Notice> {
  const hour = Math.floor(time / 3_600_000)
  const key = `limit:${body.window ?? ''}:${body.resets_at ?? `hour ${hour}`}`
  const resets =
    body.resets_at === undefined ? '' : `\nIt resets at ${new Date(body.resets_at).toLocaleString('en-GB')}.`
  const title = await titled('met a limit', subject, deps)
  return notice({ kind: 'rate_limit', key, title, text: `${body.message}${resets}` }, deps)
}

async function titled(what: string, session: string, deps: NoticeDeps): Promise<string> {
  const row = await sessionOf(session, deps)
  return `${placeOf(row, undefined)} ${what}`
}

function placeOf(row: SessionRow | undefined, project: string | undefined): string {
  if (row) return `${row.name} in ${basename(row.project)}`
  return project === undefined ? 'A session' : basename(project)
}

function sessionOf(id: string, { store }: NoticeDeps): Promise<SessionRow | undefined> {
  return store.sessions.get(id)
}

function notice(made: Notice, { hidden }: NoticeDeps): Notice {
  return {
    ...made,
    title: toSafeLine(made.title, LONGEST_TITLE, hidden),
    text: toSafeText(made.text, LONGEST_TEXT, hidden),
  }
}

/** What an ending is worth telling. A person who interrupted a run, or ran nothing, knows. */
const RUN_NOTICES: Record<RunOutcome, { kind: NoticeKind; words: string } | undefined> = {
  complete: { kind: 'complete', words: 'is complete' },
  failure: { kind: 'error', words: 'failed' },
  blocked: { kind: 'error', words: 'is blocked' },
  limit_reached: { kind: 'error', words: 'was stopped by its limit' },
  no_plan: undefined,
  interrupted: undefined,
}

/** What the end of a run is worth telling. */
async function runNotice(
  { id, subject, body }: EventOf<'run.ended'>,
  { store }: { store: Pick<Store, 'runs'> },
): Promise<Notice[]> {
  const told = RUN_NOTICES[body.outcome]
  const run = told && (await store.runs.get(subject))
  if (!run) return []
  const { done = 0, failed = 0, ...open } = body.tasks ?? {}
  const left = Object.entries(open).reduce((sum, [state, count]) => sum + (state === 'cancelled' ? 0 : count), 0)
  const unverified = body.unverified ? ` (${body.unverified === done ? '' : `${body.unverified} `}unverified)` : ''
  const counts = [
    `${done} done${unverified}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ]
  return [
    {
      kind: told.kind,
      key: `run:${id}`,
      title: `The run of ${whatOf(run.target)} in ${basename(run.project)} ${told.words}`,
      text: `${body.reason}\n${counts.join(', ')}`,
    },
  ]
}

function whatOf(target: RunTarget): string {
  if (target.kind === 'project') return 'everything'
  return target.kind === 'feature' ? target.name : target.id
}

/** The night in one message. One in which nothing happened, and after which nothing waits, is not worth a message. */
export function reportNotice({ id, body }: EventOf<'report.made'>): Notice | undefined {
  const { done, failed, unfinished, waiting, not_begun = 0, cost_usd, titles } = body
  if (done + failed + unfinished + waiting + not_begun === 0) return undefined
  const counts: [number, string][] = [
    [done, 'done'],
    [failed, 'failed'],
    [unfinished, 'not finished'],
    [waiting, waiting === 1 ? 'waits for you' : 'wait for you'],
    [not_begun, `${not_begun === 1 ? 'run' : 'runs'} did not begin`],
  ]
  const told = counts.flatMap(([count, words]) => (count === 0 ? [] : [`${count} ${words}`]))
  const left = done + failed - titles.length
  return {
    kind: 'report',
    key: `report:${id}`,
    title: `The night: ${told.join(', ')}`,
    text: [
      ...titles.map((title, index) => `${index < failed ? '✗' : '✓'} ${title}`),
      ...(left > 0 ? [`… and ${left} more`] : []),
      `$${cost_usd.toFixed(2)} spent`,
      'The whole: pcc report',
    ].join('\n'),
  }
}

/** A budget is nearly spent, or the day's is: told once for each budget, whichever session met it. */
export function budgetNotice(event: EventOf<'budget.warned'> | EventOf<'budget.spent'>): Notice | undefined {
  const { kind, body } = event
  // Of the others a decision tells, which waits for the person.
  if (kind === 'budget.spent' && body.scope !== 'day') return undefined
  const share = kind === 'budget.spent' ? 'all' : `${Math.floor((body.spent / body.limit) * 100)} %`
  return {
    kind: 'rate_limit',
    key: `${kind}:${body.scope}:${body.key}:${body.measure}:${body.limit}`,
    title: `${share} of ${budgetWords(body)} is spent`,
    text: `${amountWords(body.measure, body.spent)} of ${amountWords(body.measure, body.limit)}. See: pcc budget`,
  }
}
