import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { neutral } from '../../base/neutral.ts'
import type { RunOutcome } from '../../domain/attempt.ts'
import { amountWords, budgetWords } from '../../domain/budget.ts'
import { brokenCheckKey, type Escalation, uncheckedKey } from '../../domain/escalation.ts'
import type { EventOf, StoredEvent } from '../../domain/event.ts'
import type { NoticeKind } from '../../domain/option-values.ts'
import type { RunTarget } from '../../domain/run.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { describeInput, isCutInput, reviewCommand } from '../../domain/shown-request.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { questionsIn } from '../questions.ts'
import { type Notice, type NoticeDecision, toLine, toSafeLine, toSafeText } from './notice.ts'

const LONGEST_TITLE = 120
const LONGEST_TEXT = 800
/** What is asked of a person is shown whole where that is possible. A message of Telegram has room for 4096 characters. */
const LONGEST_DECISION = 3_200
const LONGEST_REQUEST = 2_000
/** Enough lines of a result to know how it went; one command shows the rest. */
const RESULT_LINES = 6

export interface NoticeDeps {
  store: Pick<Store, 'sessions' | 'escalations' | 'events' | 'runs'>
  /** Values that never leave the machine. */
  hidden: readonly string[]
}

/** The notices for an event; most events have none. */
export async function buildNotices(event: StoredEvent, deps: NoticeDeps): Promise<Notice[]> {
  switch (event.kind) {
    case 'question.parked':
    case 'permission.parked':
      return parkedNotice(event, deps)
    case 'question.asked':
    case 'permission.asked':
      return [{ ...(await askedNotice(event, deps)), bellOnly: true }]
    case 'session.noted':
      // If an answer did not reach its session, the decision is open again, and this note is the only event about that.
      return event.body.unheard || !(await isAsking(event.subject, deps)) ? openDecisions(event.subject, deps) : []
    case 'session.ended':
      return endedNotice(event, deps)
    case 'run.ended':
      return (await runNotice(event, deps)).map(notice => toSafeNotice(notice, deps))
    case 'report.made':
      return [reportNotice(event)].filter(notice => notice !== undefined).map(notice => toSafeNotice(notice, deps))
    case 'agent.notified':
      return [toSafeNotice(agentNotice(event), deps)]
    case 'limit.hit':
      return [await limitNotice(event, deps)]
    case 'webhook.given_up':
      return [toSafeNotice(webhookNotice(event), deps)]
    case 'budget.warned':
    case 'budget.spent':
      return [budgetNotice(event)].filter(notice => notice !== undefined).map(notice => toSafeNotice(notice, deps))
    default:
      return []
  }
}

/** A hash of the row: the same number in another database has another mark. */
export function markDecision({ number, fingerprint, created_at }: Escalation): string {
  return createHash('sha256').update(`${number} ${fingerprint} ${created_at}`).digest('hex').slice(0, 12)
}

async function parkedNotice(
  { id, subject, body }: EventOf<'question.parked'> | EventOf<'permission.parked'>,
  deps: NoticeDeps,
): Promise<Notice[]> {
  const escalation = body.number === undefined ? undefined : await deps.store.escalations.get(body.number)
  if (escalation)
    return escalation.state === 'open' ? [decisionNotice(escalation, await sessionOf(subject, deps), deps)] : []
  const text =
    'questions' in body ? body.questions.map(({ question }) => question).join(' ') : `${body.tool} ${body.target}`
  return [
    toSafeNotice(
      { kind: 'question', key: `parked:${id}`, title: await buildTitle('waits for you', subject, deps), text },
      deps,
    ),
  ]
}

/** What a terminal asks is sent to other channels only if nobody answers there. */
async function isAsking(session: string, deps: NoticeDeps): Promise<boolean> {
  return (await sessionOf(session, deps))?.state === 'asking'
}

async function openDecisions(session: string, deps: NoticeDeps): Promise<Notice[]> {
  const rows = await deps.store.escalations.list({ session, states: ['open'] })
  // Those with one cause are one notice, which the list of what waits makes.
  const open = rows.filter(row => (uncheckedKey(row) ?? brokenCheckKey(row)) === undefined)
  if (open.length === 0) return []
  const row = await sessionOf(session, deps)
  return open.map(escalation => decisionNotice(escalation, row, deps))
}

/** Whether the notice of a decision shows all that is asked, so that it can be approved by what is read there. */
export function isShownWhole(escalation: Escalation, hidden: readonly string[]): boolean {
  return decisionNotice(escalation, undefined, { hidden }).decision?.whole === true
}

type Hiding = Pick<NoticeDeps, 'hidden'>

/** The notice about an open decision. */
export function decisionNotice(escalation: Escalation, session: SessionRow | undefined, deps: Hiding): Notice {
  const { number } = escalation
  const questions = escalation.kind === 'question' ? (questionsIn(escalation.input) ?? []) : []
  const [only] = questions.length === 1 ? questions : []
  const decision: NoticeDecision = {
    number,
    mark: markDecision(escalation),
    kind: escalation.kind,
    options: (only?.options ?? []).map(({ label }) => toSafeLine(label, 60, deps.hidden)),
    parts: Math.max(1, questions.length),
  }
  const title = `${HEADINGS[escalation.kind]} (decision ${number}) · ${nameSession(session, escalation.project)}`
  const request = [
    ...(escalation.kind === 'question' ? questionLines(questions, escalation, deps) : requestLines(escalation, deps)),
    ...suggestionLines(escalation, deps),
    `Task: ${toSafeLine(escalation.task, 160, deps.hidden)}`,
  ].join('\n')
  const kind = escalation.kind === 'error' ? 'error' : 'question'
  const build = (hint: string) =>
    toSafeNotice({ kind, key: `decision:${number}`, title, text: `${request}\n${hint}` }, deps, LONGEST_DECISION)
  const verb = escalation.kind === 'question' ? '"…"' : '--approve, or --deny'
  const notice = build(`Answer: pcc respond ${number} ${verb}`)
  const whole = askedTexts(escalation, questions).every(text => notice.text.includes(text))
  if (whole) return { ...notice, decision: { ...decision, whole } }
  return {
    ...build(`Not all of it is shown here. Open it: ${openCommand(escalation)}`),
    decision: { ...decision, whole },
  }
}

/** The command that shows all of a decision. */
export function openCommand(escalation: Escalation): string {
  return neutral(reviewCommand(escalation) ?? `pcc respond ${escalation.number} --interactive`)
}

/** The texts that a person must have read before they say yes. */
function askedTexts(escalation: Escalation, questions: QuestionItem[]): string[] {
  if (escalation.kind === 'error') return []
  if (escalation.kind === 'review') return [TOO_LONG]
  if (escalation.kind !== 'question') return isCutInput(escalation.input) ? [TOO_LONG] : [drawRequest(escalation)]
  if (questions.length === 0) return [TOO_LONG]
  return questions.flatMap(({ question, options }) => [
    neutral(toLine(question)).trim(),
    ...options.map(option => neutral(toLine(describeOption(option))).trim()),
  ])
}

/** A text that no notice holds. */
const TOO_LONG = '\0'

/** All that a request would do. Long gaps are counted: what stands behind one could be out of sight. */
function drawRequest(escalation: Escalation): string {
  return neutral(describeInput(escalation))
    .trim()
    .replace(/ {16,}/g, gap => `⟨${gap.length} spaces⟩`)
    .replace(/\n(?:[ ]*\n){3,}/g, gap => `\n⟨${gap.split('\n').length - 2} empty lines⟩\n`)
}

function describeOption({ label, description }: QuestionItem['options'][number]): string {
  return description === '' ? label : `${label} – ${description}`
}

const HEADINGS = {
  question: 'Question',
  permission: 'Permission wanted',
  error: 'Failed',
  review: 'Review wanted',
} as const

function questionLines(questions: QuestionItem[], { target }: Escalation, { hidden }: Hiding): string[] {
  if (questions.length === 0) return [target]
  return questions.flatMap(({ question, options }) => [
    toSafeLine(question, LONGEST_REQUEST, hidden),
    ...options.map((option, index) => `  ${index + 1}. ${toSafeLine(describeOption(option), 300, hidden)}`),
  ])
}

function requestLines(escalation: Escalation, { hidden }: Hiding): string[] {
  const { kind, tool, risk, reason } = escalation
  if (kind === 'error') return [toSafeLine(reason, 300, hidden)]
  return [
    `${tool}: ${toSafeText(drawRequest(escalation), LONGEST_REQUEST, hidden)}`,
    `Risk ${risk}: ${toSafeLine(reason, 200, hidden)}`,
  ]
}

function suggestionLines({ context }: Escalation, { hidden }: Hiding): string[] {
  const { suggestion } = context
  if (!suggestion) return []
  const answer = suggestion.answer.map(part => [part].flat().join(', ')).join('; ')
  return [
    `Suggested: ${toSafeLine(answer, 120, hidden)} (${suggestion.by}, ${Math.round(suggestion.confidence * 100)} %)`,
  ]
}

async function askedNotice(
  { id, subject }: EventOf<'question.asked'> | EventOf<'permission.asked'>,
  deps: NoticeDeps,
): Promise<Notice> {
  const title = await buildTitle('asks you', subject, deps)
  return toSafeNotice({ kind: 'question', key: `asked:${id}`, title, text: '' }, deps)
}

async function endedNotice({ id, subject, body }: EventOf<'session.ended'>, deps: NoticeDeps): Promise<Notice[]> {
  // A session of a run gets no notice of its own: the run sends one at its end.
  if ((await sessionOf(subject, deps))?.options.run) return openDecisions(subject, deps)
  if (body.status !== 'completed') {
    // A session that ran out of retries stands still, as if paused, and waits for a person, who must hear of it.
    const open = await openDecisions(subject, deps)
    if (open.length > 0 || body.status !== 'error') return open
    const title = await buildTitle('failed', subject, deps)
    return [toSafeNotice({ kind: 'error', key: `ended:${id}`, title, text: body.reason }, deps)]
  }
  const [turn] = await deps.store.events({ subject, kinds: ['turn.ended'], tail: 1 })
  const result = turn?.kind === 'turn.ended' ? firstLines(turn.body.text) : ''
  const row = await sessionOf(subject, deps)
  const text = [row ? `Task: ${toSafeLine(row.task, 160, deps.hidden)}` : '', result || body.reason]
    .filter(Boolean)
    .join('\n')
  const title = await buildTitle('completed', subject, deps)
  return [toSafeNotice({ kind: 'complete', key: `ended:${id}`, title, text }, deps)]
}

function firstLines(text: string): string {
  const lines = text.split('\n').map(line => line.trimEnd())
  return lines
    .filter(line => line !== '')
    .slice(0, RESULT_LINES)
    .join('\n')
}

/** What an agent that a person started says to them: it waits, or something failed. The feature that stores it does so once. */
function agentNotice({ id, body }: EventOf<'agent.notified'>): Notice {
  const kind = /error|fail/i.test(body.type ?? '') ? 'error' : 'question'
  return { kind, key: `notified:${id}`, title: `${body.vendor} in ${basename(body.project)}`, text: body.text }
}

/** Sessions of one account hit the same limit one after the other; one notice is sent for all. */
async function limitNotice({ time, subject, body }: EventOf<'limit.hit'>, deps: NoticeDeps): Promise<Notice> {
  const hour = Math.floor(time / 3_600_000)
  const key = `limit:${body.window ?? ''}:${body.resets_at ?? `hour ${hour}`}`
  const resets =
    body.resets_at === undefined ? '' : `\nIt resets at ${new Date(body.resets_at).toLocaleString('en-GB')}.`
  const title = await buildTitle('met a limit', subject, deps)
  return toSafeNotice({ kind: 'rate_limit', key, title, text: `${body.message}${resets}` }, deps)
}

async function buildTitle(what: string, session: string, deps: NoticeDeps): Promise<string> {
  const row = await sessionOf(session, deps)
  return `${nameSession(row, undefined)} ${what}`
}

function nameSession(row: SessionRow | undefined, project: string | undefined): string {
  if (row) return `${row.name} in ${basename(row.project)}`
  return project === undefined ? 'A session' : basename(project)
}

function sessionOf(id: string, { store }: NoticeDeps): Promise<SessionRow | undefined> {
  return store.sessions.get(id)
}

function toSafeNotice(notice: Notice, { hidden }: Hiding, longest = LONGEST_TEXT): Notice {
  return {
    ...notice,
    title: toSafeLine(notice.title, LONGEST_TITLE, hidden),
    text: toSafeText(notice.text, longest, hidden),
  }
}

/** The notice for each outcome of a run. There is none for a run that a person interrupted, or that had nothing to do: they know. */
const RUN_NOTICES: Record<RunOutcome, { kind: NoticeKind; words: string } | undefined> = {
  complete: { kind: 'complete', words: 'is complete' },
  failure: { kind: 'error', words: 'failed' },
  blocked: { kind: 'error', words: 'is blocked' },
  limit_reached: { kind: 'error', words: 'was stopped by its limit' },
  no_plan: undefined,
  interrupted: undefined,
}

/** The notice for the end of a run. */
async function runNotice(
  { id, subject, body }: EventOf<'run.ended'>,
  { store }: { store: Pick<Store, 'runs'> },
): Promise<Notice[]> {
  const outcome = RUN_NOTICES[body.outcome]
  const run = outcome && (await store.runs.get(subject))
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
      kind: outcome.kind,
      key: `run:${id}`,
      title: `The run of ${describeTarget(run.target)} in ${basename(run.project)} ${outcome.words}`,
      text: `${body.reason}\n${counts.join(', ')}`,
    },
  ]
}

function describeTarget(target: RunTarget): string {
  if (target.kind === 'project') return 'everything'
  return target.kind === 'feature' ? target.name : target.id
}

/** The night in one message; undefined if nothing happened and nothing waits. */
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
  const summary = counts.flatMap(([count, words]) => (count === 0 ? [] : [`${count} ${words}`]))
  const left = done + failed - titles.length
  return {
    kind: 'report',
    key: `report:${id}`,
    title: `The night: ${summary.join(', ')}`,
    text: [
      ...titles.map((title, index) => `${index < failed ? '✗' : '✓'} ${title}`),
      ...(left > 0 ? [`… and ${left} more`] : []),
      `$${cost_usd.toFixed(2)} spent`,
      'The whole: pcc report',
    ].join('\n'),
  }
}

function webhookNotice({ id, body: { name, problem } }: EventOf<'webhook.given_up'>): Notice {
  return {
    kind: 'error',
    key: `webhook:${name}:${id}`,
    title: `The webhook ${name} takes no events`,
    text: `Events were tried for three days and are now given up: ${problem}. See: pcc webhooks status`,
  }
}

/** A budget is nearly spent, or that of the day is spent: sent once per budget, whichever session hit it. */
export function budgetNotice(event: EventOf<'budget.warned'> | EventOf<'budget.spent'>): Notice | undefined {
  const { kind, body } = event
  // Other spent budgets open a decision, which has its own notice.
  if (kind === 'budget.spent' && body.scope !== 'day') return undefined
  const share = kind === 'budget.spent' ? 'all' : `${Math.floor((body.spent / body.limit) * 100)} %`
  return {
    kind: 'rate_limit',
    key: `${kind}:${body.scope}:${body.key}:${body.measure}:${body.limit}`,
    title: `${share} of ${budgetWords(body)} is spent`,
    text: `${amountWords(body.measure, body.spent)} of ${amountWords(body.measure, body.limit)}. See: pcc budget`,
  }
}
