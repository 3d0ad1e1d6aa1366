import type { Clock } from '../base/clock.ts'
import { unreachable } from '../base/errors.ts'
import type { Escalation, EscalationState, NewEscalation } from '../domain/escalation.ts'
import type { EventOf } from '../domain/event.ts'
import { truncateInput } from '../domain/shown-request.ts'
import type { Store, Tx } from '../store/store.ts'
import { fingerprintRequest, isToolOnly, truncateNormalised } from './precedents.ts'
import { normaliseQuestions, questionsIn } from './questions.ts'

/** States of a row that no person has answered. */
export const WAITING: readonly EscalationState[] = ['open', 'denied']

export interface EscalationDeps {
  store: Store
  clock: Clock
  tx: Tx
}

/**
 * Makes a row for something that waits for a person and returns its number. If one session asks the same again, its row counts
 * that; if several sessions of a project ask the same question, all of them wait for one row.
 */
export async function recordDecision(entry: NewEscalation, { store, clock, tx }: EscalationDeps): Promise<number> {
  const { session_id, call_id, risk, reason } = entry
  const { fingerprint, own } = await findOwnRow(entry, { store, clock, tx })
  const dedup_key = isShared(entry) ? fingerprintRequest(entry.project, fingerprint) : null
  const shared = dedup_key === null ? undefined : await store.escalations.shared(dedup_key, tx)
  // A call that was asked at a terminal until everybody left is the same ask, not another one.
  if (own && isSameCall(own, entry)) {
    if (entry.state === 'denied') await store.escalations.refuse(own.number, entry.bound ?? null, tx)
    return own.number
  }
  if (shared && (await hasJoined(shared, entry, { store, clock, tx }))) return shared.number
  const before = own && isRepeat(own, entry) ? own : shared
  if (before) {
    const state = before.state === 'answered' ? 'answered' : entry.state
    const isOwn = before.session_id === session_id || before === own
    const call = isOwn ? { session_id, call_id } : { call_id: before.call_id }
    await store.escalations.repeat(before.number, { ...call, risk, reason, state, last_at: clock.now() }, tx)
    await store.escalations.join(before.number, { session_id, call_id }, tx)
    return before.number
  }
  return store.escalations.insert({ ...(await completeRow(entry, { store, clock, tx })), fingerprint, dedup_key }, tx)
}

/**
 * Two calls that wait at the same time are two decisions, even if they are the same request: a yes is for one call. A request that
 * was refused is one row for all attempts at its task.
 */
async function findOwnRow(entry: NewEscalation, { store, tx }: EscalationDeps) {
  const { tool, session_id, call_id, task_id, kind } = entry
  const spelling = spell(entry)
  const fingerprint = fingerprintRequest(tool, spelling)
  const isRefusal = kind === 'permission' && entry.state === 'denied' && task_id != null
  const find = async (print: string) =>
    (await store.escalations.latest(session_id, print, tx)) ??
    (isRefusal ? await store.escalations.latestOfTask(task_id, print, tx) : undefined)
  const own = await find(fingerprint)
  // A yes is for what the row shows: a request with other content, or that would run other files, is another request.
  if (own && !isSameCall(own, entry) && entry.bound !== undefined && entry.bound !== own.bound) {
    const ofThisContent = fingerprintRequest(tool, `${spelling} ${entry.bound}`)
    return { fingerprint: ofThisContent, own: await find(ofThisContent) }
  }
  if (entry.kind !== 'permission' || own?.state !== 'open' || own.call_id === call_id) return { fingerprint, own }
  const ofThisCall = fingerprintRequest(tool, `${spelling} ${call_id}`)
  return { fingerprint: ofThisCall, own: await store.escalations.latest(session_id, ofThisCall, tx) }
}

/** Questions are compared without case and order of options; calls of which only the tool is known, by their input. */
function spell({ kind, tool, normalised, input, spelling }: NewEscalation): string {
  const questions = kind === 'question' ? questionsIn(input) : undefined
  if (questions) return normaliseQuestions(questions)
  if (spelling !== undefined) return spelling
  return isToolOnly(tool, normalised) ? `${normalised} ${JSON.stringify(input)}` : normalised
}

/** A yes to a call is for that call only. A question has no effect of its own, so one answer serves all who ask it. */
function isShared({ kind, state, input }: NewEscalation): boolean {
  return kind === 'question' && state === 'open' && questionsIn(input) !== undefined
}

function isSameCall(own: Escalation, { call_id }: NewEscalation): boolean {
  return own.state === 'open' && own.call_id === call_id
}

/** Whether this call waits already for a row that another session made. */
async function hasJoined(
  { number }: Escalation,
  { session_id, call_id }: NewEscalation,
  { store, tx }: EscalationDeps,
) {
  const waiting = await store.escalations.sessionsOf([number], tx)
  return waiting.some(other => other.session_id === session_id && other.call_id === call_id)
}

/**
 * Whether the entry only repeats an earlier row. The same session does not ask again after a person said no; after a yes, a new
 * row tells the person that the request was refused once more.
 */
function isRepeat(before: Escalation, entry: NewEscalation): boolean {
  return WAITING.includes(before.state) || (before.verdict === 'deny' && entry.state === 'denied')
}

async function completeRow({ spelling: _, ...entry }: NewEscalation, { store, clock, tx }: EscalationDeps) {
  const now = clock.now()
  const { session_id, context = {}, deadline = null, on_deadline = 'keep_waiting', bound = null } = entry
  const session = await store.sessions.get(session_id, tx)
  const priority = entry.priority ?? session?.priority ?? 0
  const task_id = entry.task_id === undefined ? (session?.task_id ?? null) : entry.task_id
  const task = task_id === null ? undefined : await store.tasks.get(task_id, tx)
  const steps = context.steps ?? (await readLastSteps(store, session_id))
  return {
    ...entry,
    // People know a task by its title; the text of the session is that of its first task, and may be long.
    ...(task && { task: task.title }),
    ...{ task_id, bound, priority, context: { ...context, ...(steps.length > 0 && { steps }) }, deadline, on_deadline },
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
  allowed_until: null,
  used_at: null,
} as const

const STEPS = 10
const LONGEST_STEP = 160
const KINDS = ['agent.said', 'tool.finished'] as const

/** The last steps of a session, one line each, newest last: enough to see where a question comes from. */
async function readLastSteps(store: Pick<Store, 'events'>, session: string): Promise<string[]> {
  const events = await store.events({ subject: session, kinds: [...KINDS], tail: STEPS })
  return events.flatMap(event =>
    event.kind === 'agent.said' || event.kind === 'tool.finished' ? [toOneLine(describeStep(event))] : [],
  )
}

function describeStep(event: EventOf<'agent.said'> | EventOf<'tool.finished'>): string {
  switch (event.kind) {
    case 'agent.said':
      return `said: ${event.body.text}`
    case 'tool.finished':
      return `${event.body.ok ? 'did' : 'failed'}: ${event.body.tool} ${event.body.target}`
    default:
      return unreachable(event)
  }
}

function toOneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > LONGEST_STEP ? `${line.slice(0, LONGEST_STEP - 1).toWellFormed()}…` : line
}
