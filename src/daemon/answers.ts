import { AppError } from '../base/errors.ts'
import { Alarm } from '../base/keyed-worker.ts'
import type { AnswerAsk, OpenAsk } from '../domain/api.ts'
import type { AnswerEscalation, AnsweredEscalation, Escalation, EscalationAnswer } from '../domain/escalation.ts'
import type { QuestionItem } from '../domain/session.ts'
import { answerAtDeadline, lateAnswerError } from '../human/escalations.ts'
import { questionsIn } from '../human/questions.ts'
import { readAnswer } from '../human/read-answer.ts'
import type { SessionRow } from '../store/tables.ts'
import { type DaemonContext, getEscalations } from './context.ts'
import { deliverAnswer, isDue } from './deliver-answers.ts'

/** A word on what was refused is noted; what is open is settled by the session that goes on with it. */
export async function answerEscalation(
  number: number,
  answer: AnswerEscalation,
  daemon: DaemonContext,
): Promise<AnsweredEscalation> {
  const escalations = getEscalations(daemon)
  const found = await escalations.get(number)
  if (found.state === 'answered' || found.state === 'withdrawn') throw lateAnswerError(found)
  const row = await daemon.store.sessions.get(found.session_id)
  const parked = row?.parked?.number === number ? row.parked : undefined
  const questions = parked && 'questions' in parked ? parked.questions : await questionsAtTerminal(found, daemon)
  if (found.kind === 'error' && answer.verdict === undefined) {
    const problem = 'it is an error: say --approve to try again, or --deny to leave the session as it is'
    throw new AppError('answer_unfit', { number, problem })
  }
  const asked = questions ?? questionsIn(found.input) ?? []
  const said = readAnswer(answer, found.kind === 'question' ? asked : undefined)
  if ('problem' in said) throw new AppError('answer_unfit', { number, problem: said.problem })
  const noted = found.state === 'denied' ? await escalations.answer(number, said) : undefined
  if (noted) return noted
  if (row && found.kind === 'error') return answeredError(number, { said, row, env: answer.env }, daemon)
  // A review has no call that waits for a word: it is noted what was said.
  if (found.kind === 'review') return daemon.store.transaction(tx => escalations.settle(number, said, tx))
  return answerOpen(number, { said, env: answer.env }, daemon)
}

interface ErrorAnswer {
  said: EscalationAnswer
  row: SessionRow
  env: AnswerEscalation['env']
}

/** A yes to an error that was tried often enough tries once more; a no leaves the session as it is. */
async function answeredError(number: number, { said, row, env }: ErrorAnswer, daemon: DaemonContext) {
  const escalations = getEscalations(daemon)
  const answered = await daemon.store.transaction(tx => escalations.settle(number, said, tx))
  if (said.verdict !== 'allow') return answered
  try {
    await daemon.supervisor.resume(row, { env, reason: 'a person said to try again', actor: 'human' })
  } catch (error) {
    await daemon.store.transaction(tx => escalations.reopen(number, tx))
    throw error
  }
  return answered
}

interface OpenAnswer {
  said: EscalationAnswer
  /** Of who answers; without it each session goes on in what it was last started with. */
  env: Record<string, string> | undefined
  /** The session that is taken up first; without it that of the row. */
  first?: string | undefined
}

/**
 * Answers what is open: the session that can go on settles it, in one transaction with going on, and every other that waits
 * for the same gets the answer then. Should the daemon die in between, the next one brings it to those who are left.
 */
export async function answerOpen(
  number: number,
  { said, env, first }: OpenAnswer,
  daemon: DaemonContext,
): Promise<AnsweredEscalation> {
  const { supervisor } = daemon
  const asked = await answerAtTerminal(number, said, daemon)
  if (asked) {
    await deliverToOthers(asked, { said, env }, daemon)
    return asked
  }
  let problem: unknown
  for (const row of await waitingFor(number, first, daemon)) {
    try {
      const answered = await supervisor.resumeParked(row, { said, env: env ?? supervisor.envOf(row.id) })
      if (!answered) continue
      await deliverToOthers(answered, { said, env }, daemon)
      return answered
    } catch (error) {
      if (!isForOneSession(error)) throw error
      problem ??= error
    }
  }
  if (problem !== undefined) throw problem
  // No session waits for this alone: one that asks it again finds it in what is remembered.
  return daemon.store.transaction(tx => getEscalations(daemon).settle(number, said, tx))
}

/** What stands in the way of one session need not stand in the way of another. */
function isForOneSession(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'account_differs' || error.code === 'ask_unknown')
}

/** Those that are parked on it, the named one first. */
async function waitingFor(number: number, first: string | undefined, daemon: DaemonContext): Promise<SessionRow[]> {
  const { session_id } = await getEscalations(daemon).get(number)
  const ids = (await getEscalations(daemon).sessionsOf(number)).map(each => each.session_id)
  const start = first ?? session_id
  const ordered = [start, ...ids.filter(id => id !== start)]
  const rows = await Promise.all(ordered.map(id => daemon.store.sessions.get(id)))
  return rows.filter(row => row?.parked?.number === number).filter(row => row !== undefined)
}

/** Answers what is asked at a terminal, there; where others wait for the same, they get the answer too. */
export async function answerAsked(session: string, answer: AnswerAsk, daemon: DaemonContext): Promise<void> {
  const { store, terminals } = daemon
  const ask = terminals.open(session).find(({ ask_id }) => ask_id === answer.ask_id)
  const [last] = await store.events({ subject: session, tail: 1 })
  terminals.answer(session, answer)
  const number = ask?.kind === 'question' ? ask.number : undefined
  if (number === undefined || (await waitUntilStored({ number, session }, last?.id ?? 0, daemon)) === undefined) return
  const escalation = await getEscalations(daemon).get(number)
  const { verdict, answer: heard, answer_reason: reason } = escalation
  const said = { verdict: verdict ?? undefined, answer: heard ?? undefined, reason: reason ?? undefined, by: answer.by }
  await deliverToOthers({ escalation, remembered: false }, { said, env: answer.env }, daemon)
}

/** Read again: others may have joined up to the moment in which it was settled. */
async function deliverToOthers(
  { escalation: settled }: AnsweredEscalation,
  { said, env }: OpenAnswer,
  daemon: DaemonContext,
): Promise<void> {
  const { number } = settled
  if (settled.kind === 'question') await answerOthersAtTerminals(number, said, daemon)
  const rows = (await waitingFor(number, undefined, daemon)).filter(isDue)
  const story = `Decision ${number} was answered, but this session could not go on with it`
  await Promise.all(
    rows.map(row => {
      const envs = [...(env ? [env] : []), daemon.supervisor.envOf(row.id)]
      return deliverAnswer({ row, settled, envs, story }, daemon)
    }),
  )
}

/** Storing an answer takes milliseconds; a session that ends in between may never do it. */
const STORED_WITHIN_MS = 10_000

/**
 * Answers by number what is asked at a terminal right now: there, so that of two answers the first counts wherever it came
 * from. Comes back when the session has stored it; nothing where it is not asked at a terminal, or is parked just now.
 */
async function answerAtTerminal(
  number: number,
  said: EscalationAnswer,
  daemon: DaemonContext,
): Promise<AnsweredEscalation | undefined> {
  const { store, terminals } = daemon
  const row = await getEscalations(daemon).get(number)
  const asked = await askNumbered(row, daemon)
  const session = asked?.session ?? row.session_id
  const [last] = await store.events({ subject: session, tail: 1 })
  if (asked) terminals.answer(session, answerTo(asked.ask, said))
  else if (!(await isBeingStored(row, daemon))) return undefined
  const remembered = await waitUntilStored({ number, session }, last?.id ?? 0, daemon)
  const escalation = await getEscalations(daemon).get(number)
  if (!asked && escalation.state === 'open') return undefined
  if (!asked || remembered === undefined) throw lateAnswerError(escalation)
  return { escalation, remembered }
}

/** Gives an answer that is settled to all who are asked the same at a terminal. */
async function answerOthersAtTerminals(number: number, said: EscalationAnswer, daemon: DaemonContext): Promise<void> {
  for (const { session_id: session } of await getEscalations(daemon).sessionsOf(number)) {
    for (const ask of daemon.terminals.open(session).filter(each => each.number === number)) {
      daemon.terminals.answer(session, { ...answerTo(ask, said), settled: true })
    }
  }
}

/** The parts of a question that is asked at a terminal under this number, or is just being parked. */
async function questionsAtTerminal(row: Escalation, daemon: DaemonContext): Promise<QuestionItem[] | undefined> {
  const asked = await askNumbered(row, daemon)
  if (asked) return asked.ask.kind === 'question' ? asked.ask.questions : undefined
  const parked = daemon.supervisor.run(row.session_id)?.parking.get(row.call_id)?.parked
  return parked && 'questions' in parked ? parked.questions : undefined
}

async function askNumbered(
  { number }: Escalation,
  daemon: DaemonContext,
): Promise<{ session: string; ask: OpenAsk } | undefined> {
  for (const { session_id: session } of await getEscalations(daemon).sessionsOf(number)) {
    const ask = daemon.terminals.open(session).find(each => each.number === number)
    if (ask) return { session, ask }
  }
  return undefined
}

/** Somebody else's answer was taken a moment ago, or it is just being parked: its session is at work and is not parked on it yet. */
async function isBeingStored(
  { number, session_id }: Escalation,
  { store, supervisor }: DaemonContext,
): Promise<boolean> {
  if (!supervisor.run(session_id)) return false
  const session = await store.sessions.get(session_id)
  return session?.state !== 'ended' && session?.parked?.number !== number
}

interface StoredAnswer {
  number: number
  session: string
}

/** Whether the answer is remembered, as soon as it is stored; undefined where the session ended first. */
async function waitUntilStored({ number, session }: StoredAnswer, after: number, { store }: DaemonContext) {
  const signal = AbortSignal.timeout(STORED_WITHIN_MS)
  for await (const { kind, body } of store.follow(after, { subject: session, signal })) {
    if (kind === 'escalation.answered' && body.number === number) return body.remembered
    if (kind === 'session.ended') return undefined
  }
  return undefined
}

function answerTo(ask: OpenAsk, { verdict, answer, reason, by, always }: EscalationAnswer) {
  const questions = ask.kind === 'question' ? ask.questions : []
  const words = answer && Object.fromEntries(questions.map(({ question }, index) => [question, answer[index] ?? '']))
  return { ask_id: ask.ask_id, verdict, reason, by, always, ...(words && { answers: words }) } satisfies AnswerAsk & {
    always: EscalationAnswer['always']
  }
}

/** A row may be made with a nearer deadline meanwhile: the worker looks at least this often. */
const LOOK_MS = 15_000

/** Settles what nobody has answered by its deadline, until it is closed. The times stand in the rows. */
export function enforceDeadlines(daemon: DaemonContext, now: () => number = Date.now): Alarm {
  const { store, log } = daemon
  const alarm = new Alarm({
    async look() {
      const { rows, next } = await store.escalations.due(now())
      for (const row of rows) await settleLate(row, now(), daemon)
      return next === undefined ? LOOK_MS : next - now()
    },
    failed: error => log.error({ error }, 'could not look for deadlines'),
  })
  void alarm.poke()
  return alarm
}

/** What cannot be settled so waits for a person: the deadline goes, so that it is not tried again and again. */
async function settleLate(row: Escalation, now: number, daemon: DaemonContext): Promise<void> {
  const { number } = row
  const said = answerAtDeadline(row, now)
  try {
    if (said) {
      await answerOpen(number, { said, env: undefined }, daemon)
      daemon.log.info({ number, as: row.on_deadline }, 'deadline passed')
      return
    }
  } catch (error) {
    if (daemon.stopping.aborted || isForNow(error)) return
    daemon.log.warn({ number, error }, 'could not be settled at its deadline; it waits on')
  }
  await daemon.store.transaction(tx => daemon.store.escalations.dropDeadline(number, tx))
}

/** It is tried again with the next look. */
function isForNow(error: unknown): boolean {
  return error instanceof AppError && error.code === 'disk_full'
}
