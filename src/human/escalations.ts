import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type {
  AnsweredEscalation,
  Escalation,
  EscalationAnswer,
  EscalationState,
  NewEscalation,
} from '../domain/escalation.ts'
import type { Store, Tx } from '../store/store.ts'
import { fingerprintOf, isBare, keptNormalised } from './fingerprint.ts'
import { keptInput } from './kept-input.ts'
import { precedents } from './precedents.ts'

/** What `pcc pending` shows: everything no person has said a word to. */
const WAITING: readonly EscalationState[] = ['open', 'denied']

export interface HumanEscalations {
  /** Lists a request that nobody could be asked about and gives its number. Asked again, it is the same row, counted. */
  record(entry: NewEscalation, tx?: Tx): Promise<number>
  /** Oldest first; without a state, those that wait. */
  list(filter?: {
    session?: string | undefined
    states?: readonly EscalationState[] | undefined
  }): Promise<Escalation[]>
  /** The first answer wins; a later one is `escalation_answered`. */
  answer(number: number, answer: EscalationAnswer): Promise<AnsweredEscalation>
  /** How many wait. */
  waiting(): Promise<number>
}

/** The last word: what waits for a person, and what they say to it. */
export function openEscalations({ store, clock }: { store: Store; clock: Clock }): HumanEscalations {
  return {
    record: (entry, tx) =>
      tx ? record(entry, { store, clock, tx }) : store.transaction(own => record(entry, { store, clock, tx: own })),
    list: ({ session, states = WAITING } = {}) => store.escalations.list({ session, states }),
    answer: (number, answer) => store.transaction(tx => answerOnce(number, answer, { store, clock, tx })),
    waiting: () => store.escalations.count(WAITING),
  }
}

interface Desk {
  store: Store
  clock: Clock
  tx: Tx
}

async function record(entry: NewEscalation, { store, clock, tx }: Desk): Promise<number> {
  const now = clock.now()
  const fingerprint = fingerprintOf(entry.tool, whole(entry))
  const before = await store.escalations.latest(entry.session_id, fingerprint, tx)
  if (before && countsOn(before, entry)) {
    const { call_id, risk, reason } = entry
    const state = before.state === 'answered' ? 'answered' : entry.state
    await store.escalations.repeat(before.number, { call_id, risk, reason, state, last_at: now }, tx)
    return before.number
  }
  const fresh = { count: 1, created_at: now, last_at: now, verdict: null, answered_by: null } as const
  const kept = { input: keptInput(entry.input), normalised: keptNormalised(entry.normalised), fingerprint }
  return store.escalations.insert({ ...entry, ...kept, ...fresh, answered_at: null, answer_reason: null }, tx)
}

/** Calls of which only the tool is known are told apart by their input. */
function whole({ tool, normalised, input }: NewEscalation): string {
  return isBare(tool, normalised) ? `${normalised} ${JSON.stringify(input)}` : normalised
}

/** A person who said no is not asked again by the same session; one who said yes is told that it was refused once more. */
function countsOn(before: Escalation, entry: NewEscalation): boolean {
  return before.state !== 'answered' || (before.verdict === 'deny' && entry.state === 'denied')
}

async function answerOnce(number: number, answer: EscalationAnswer, desk: Desk): Promise<AnsweredEscalation> {
  const { store, clock, tx } = desk
  const first = await store.escalations.answer(number, { ...answer, at: clock.now() }, tx)
  const escalation = await store.escalations.get(number, tx)
  if (!escalation) throw new AppError('escalation_unknown', { number })
  if (!first) throw answeredError(escalation)
  const remembered = await remember(escalation, desk)
  const { verdict, by, reason } = answer
  const body = {
    number,
    verdict,
    by,
    remembered,
    tool: escalation.tool,
    target: escalation.target,
    risk: escalation.risk,
  }
  const told = reason === undefined ? body : { ...body, reason }
  await tx.append([{ actor: 'human', subject: escalation.session_id, kind: 'escalation.answered', body: told }])
  return { escalation, remembered }
}

/** Where the kept spelling is not the whole request (very long, or only a tool's name) the answer is for this one alone. */
async function remember(
  { project, tool, normalised, fingerprint, risk, verdict, answered_by }: Escalation,
  desk: Desk,
) {
  if (verdict === null || answered_by === null || fingerprintOf(tool, normalised) !== fingerprint) return false
  const answer = { project, tool, normalised, risk, verdict, by: answered_by }
  return precedents(desk.store, desk.clock).remember(answer, desk.tx)
}

function answeredError({ number, verdict, answered_by, answered_at }: Escalation): AppError {
  const when = new Date(answered_at ?? 0).toISOString().slice(0, 16).replace('T', ' ')
  return new AppError('escalation_answered', {
    number,
    verdict: verdict === 'allow' ? 'approved' : 'denied',
    by: answered_by ?? 'somebody',
    when: `${when} UTC`,
  })
}
