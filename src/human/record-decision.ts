import type { Clock } from '../base/clock.ts'
import { unreachable } from '../base/errors.ts'
import type { Escalation, EscalationState, NewEscalation } from '../domain/escalation.ts'
import type { EventOf } from '../domain/event.ts'
import type { Store, Tx } from '../store/store.ts'
import { fingerprintRequest, isToolOnly, truncateNormalised } from './precedents.ts'
import { normalisedQuestions, questionsIn } from './questions.ts'

/** What no person has said a word to. */
export const WAITING: readonly EscalationState[] = ['open', 'denied']

export interface EscalationDeps {
  store: Store
  clock: Clock
  tx: Tx
}

/**
 * Makes the row of something that waits for a person and gives its number. The same of one session is the same row, counted;
 * the same question of several sessions of a project is one row that all of them wait for.
 */
export async function recordDecision(entry: NewEscalation, { store, clock, tx }: EscalationDeps): Promise<number> {
  const { session_id, call_id, risk, reason } = entry
  const { fingerprint, own } = await ownRow(entry, { store, clock, tx })
  const dedup_key = isShared(entry) ? fingerprintRequest(entry.project, fingerprint) : null
  const shared = dedup_key === null ? undefined : await store.escalations.shared(dedup_key, tx)
  // What was asked at a terminal and is left there by everybody is the same ask, not one more.
  if (own && isStill(own, entry)) {
    if (entry.state === 'denied') await store.escalations.refuse(own.number, tx)
    return own.number
  }
  if (shared && (await isJoined(shared, entry, { store, clock, tx }))) return shared.number
  const before = own && countsOn(own, entry) ? own : shared
  if (before) {
    const state = before.state === 'answered' ? 'answered' : entry.state
    const call = before.session_id === session_id ? call_id : before.call_id
    await store.escalations.repeat(before.number, { call_id: call, risk, reason, state, last_at: clock.now() }, tx)
    await store.escalations.join(before.number, { session_id, call_id }, tx)
    return before.number
  }
  return store.escalations.insert({ ...(await whole(entry, { store, clock, tx })), fingerprint, dedup_key }, tx)
}

/** Two calls that wait at once are two decisions, however alike: a yes is for one call. */
async function ownRow(entry: NewEscalation, { store, tx }: EscalationDeps) {
  const { tool, session_id, call_id } = entry
  const spelling = spellingOf(entry)
  const fingerprint = fingerprintRequest(tool, spelling)
  const own = await store.escalations.latest(session_id, fingerprint, tx)
  if (entry.kind !== 'permission' || own?.state !== 'open' || own.call_id === call_id) return { fingerprint, own }
  const another = fingerprintRequest(tool, `${spelling} ${call_id}`)
  return { fingerprint: another, own: await store.escalations.latest(session_id, another, tx) }
}

/** Questions are the same in whatever case and order; calls of which only the tool is known are told apart by their input. */
function spellingOf({ kind, tool, normalised, input }: NewEscalation): string {
  const questions = kind === 'question' ? questionsIn(input) : undefined
  if (questions) return normalisedQuestions(questions)
  return isToolOnly(tool, normalised) ? `${normalised} ${JSON.stringify(input)}` : normalised
}

/** A yes to a call is for that call alone; a question does nothing, so one answer serves all who ask it. */
function isShared({ kind, state, input }: NewEscalation): boolean {
  return kind === 'question' && state === 'open' && questionsIn(input) !== undefined
}

function isStill(own: Escalation, { call_id }: NewEscalation): boolean {
  return own.state === 'open' && own.call_id === call_id
}

/** The same of what others asked first. */
async function isJoined({ number }: Escalation, { session_id, call_id }: NewEscalation, { store, tx }: EscalationDeps) {
  const waiting = await store.escalations.sessionsOf([number], tx)
  return waiting.some(each => each.session_id === session_id && each.call_id === call_id)
}

/** A person who said no is not asked again by the same session; one who said yes is told that it was refused once more. */
function countsOn(before: Escalation, entry: NewEscalation): boolean {
  return WAITING.includes(before.state) || (before.verdict === 'deny' && entry.state === 'denied')
}

async function whole(entry: NewEscalation, { store, clock, tx }: EscalationDeps) {
  const now = clock.now()
  const { session_id, context = {}, deadline = null, on_deadline = 'keep_waiting' } = entry
  const priority = entry.priority ?? (await store.sessions.get(session_id, tx))?.priority ?? 0
  const steps = context.steps ?? (await readLastSteps(store, session_id))
  return {
    ...entry,
    ...{ priority, context: { ...context, ...(steps.length > 0 && { steps }) }, deadline, on_deadline },
    ...{ input: truncateInput(entry.input), normalised: truncateNormalised(entry.normalised) },
    ...{ count: 1, created_at: now, last_at: now },
    ...UNANSWERED,
  }
}

export const UNANSWERED = {
  verdict: null,
  answer: null,
  answered_by: null,
  answered_at: null,
  answer_reason: null,
} as const

const KEPT_TEXT = 4_000
const KEPT_ALL = 64_000

/** The input of a request as a row keeps it: long texts cut, and nothing but the names where it is still too much. */
function truncateInput(input: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(input).map(([name, value]) => [name, cutText(value)] as const)
  const kept = Object.fromEntries(entries)
  if (JSON.stringify(kept).length <= KEPT_ALL) return kept
  return {
    left_out: Object.keys(input)
      .slice(0, 50)
      .map(name => cutText(name)),
  }
}

function cutText(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= KEPT_TEXT) return value
  return `${value.slice(0, KEPT_TEXT).toWellFormed()}… (${value.length} characters)`
}

const STEPS = 10
const LONGEST = 160
const KINDS = ['agent.said', 'tool.finished'] as const

/** What a session did last, one line each, the newest at the end: enough to see where a question comes from. */
async function readLastSteps(store: Pick<Store, 'events'>, session: string): Promise<string[]> {
  const events = await store.events({ subject: session, kinds: [...KINDS], tail: STEPS })
  return events.flatMap(event =>
    event.kind === 'agent.said' || event.kind === 'tool.finished' ? [oneLine(stepOf(event))] : [],
  )
}

function stepOf(event: EventOf<'agent.said'> | EventOf<'tool.finished'>): string {
  switch (event.kind) {
    case 'agent.said':
      return `said: ${event.body.text}`
    case 'tool.finished':
      return `${event.body.ok ? 'did' : 'failed'}: ${event.body.tool} ${event.body.target}`
    default:
      return unreachable(event)
  }
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1).toWellFormed()}…` : line
}
