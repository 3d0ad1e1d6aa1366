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
import { lateAnswer } from './late-answer.ts'
import { precedents } from './precedents.ts'

/** What `pcc pending` shows: everything no person has said a word to. */
const WAITING: readonly EscalationState[] = ['open', 'denied']

export interface HumanEscalations {
  /** Lists a request that nobody could be asked about and gives its number. Asked again, it is the same row, counted. */
  record(entry: NewEscalation, tx?: Tx): Promise<number>
  /** Throws `escalation_unknown`. */
  get(number: number): Promise<Escalation>
  /** Oldest first; without a state, those that wait. */
  list(filter?: {
    session?: string | undefined
    states?: readonly EscalationState[] | undefined
  }): Promise<Escalation[]>
  /** A word on what was refused. The first counts; a later one is `escalation_answered`. Nothing comes back for a row that is open. */
  answer(number: number, answer: EscalationAnswer): Promise<AnsweredEscalation | undefined>
  /** The same for a row that is open, in the transaction in which its session is taken up again. */
  settle(number: number, answer: EscalationAnswer, tx: Tx): Promise<AnsweredEscalation>
  /** The answer did not reach the session: it waits again. */
  reopen(number: number, tx: Tx): Promise<void>
  /** Nobody needs an answer to what is open of this session any more. */
  withdraw(session: string, reason: string, tx: Tx): Promise<void>
  /** How many wait. */
  waiting(): Promise<number>
}

/** The last word: what waits for a person, and what they say to it. */
export function openEscalations({ store, clock }: { store: Store; clock: Clock }): HumanEscalations {
  return {
    record: (entry, tx) =>
      tx ? record(entry, { store, clock, tx }) : store.transaction(own => record(entry, { store, clock, tx: own })),
    get: number => known(number, { store }),
    list: ({ session, states = WAITING } = {}) => store.escalations.list({ session, states }),
    answer: (number, answer) =>
      store.transaction(async tx => {
        const answered = await answerOnce(number, { ...answer, from: 'denied' }, { store, clock, tx })
        return 'open' in answered ? undefined : answered
      }),
    settle: async (number, answer, tx) => {
      const answered = await answerOnce(number, { ...answer, from: 'open' }, { store, clock, tx })
      if ('open' in answered) throw lateAnswer(answered.open)
      return answered
    },
    reopen: (number, tx) => store.escalations.reopen(number, tx),
    withdraw: (session, reason, tx) => store.escalations.withdraw(session, { reason, at: clock.now() }, tx),
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
  const fresh = { count: 1, created_at: now, last_at: now, verdict: null, answer: null, answered_by: null } as const
  const kept = { input: keptInput(entry.input), normalised: keptNormalised(entry.normalised), fingerprint }
  return store.escalations.insert({ ...entry, ...kept, ...fresh, answered_at: null, answer_reason: null }, tx)
}

/** Calls of which only the tool is known are told apart by their input. */
function whole({ tool, normalised, input }: NewEscalation): string {
  return isBare(tool, normalised) ? `${normalised} ${JSON.stringify(input)}` : normalised
}

/** A person who said no is not asked again by the same session; one who said yes is told that it was refused once more. */
function countsOn(before: Escalation, entry: NewEscalation): boolean {
  return WAITING.includes(before.state) || (before.verdict === 'deny' && entry.state === 'denied')
}

type Answered = AnsweredEscalation | { open: Escalation }

async function answerOnce(
  number: number,
  { from, ...answer }: EscalationAnswer & { from: 'open' | 'denied' },
  desk: Desk,
): Promise<Answered> {
  const { store, clock, tx } = desk
  const first = await store.escalations.answer(number, { ...answer, at: clock.now(), from }, tx)
  const escalation = await known(number, desk)
  if (!first && escalation.state === 'open') return { open: escalation }
  if (!first) throw lateAnswer(escalation)
  const remembered = await remember(escalation, desk)
  const { tool, target, risk } = escalation
  const { verdict, answer: said, by, reason } = answer
  const body = {
    ...{ number, by, remembered, tool, target, risk },
    ...(verdict !== undefined && { verdict }),
    ...(said !== undefined && { answer: said }),
    ...(reason !== undefined && { reason }),
  }
  await tx.append([{ actor: 'human', subject: escalation.session_id, kind: 'escalation.answered', body }])
  return { escalation, remembered }
}

async function known(number: number, { store, tx }: { store: Store; tx?: Tx }): Promise<Escalation> {
  const escalation = await store.escalations.get(number, tx)
  if (!escalation) throw new AppError('escalation_unknown', { number })
  return escalation
}

/** Where the kept spelling is not the whole request (very long, or only a tool's name) the answer is for this one alone. */
async function remember(
  { kind, project, tool, normalised, fingerprint, risk, verdict, answered_by }: Escalation,
  desk: Desk,
) {
  if (kind !== 'permission' || fingerprintOf(tool, normalised) !== fingerprint) return false
  if (verdict === null || answered_by === null) return false
  const answer = { project, tool, normalised, risk, verdict, by: answered_by }
  return precedents(desk.store, desk.clock).remember(answer, desk.tx)
}
