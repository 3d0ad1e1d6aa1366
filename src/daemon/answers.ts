import { AppError } from '../base/errors.ts'
import { Alarm } from '../base/keyed-worker.ts'
import type { AnswerAsk, OpenAsk } from '../domain/api.ts'
import {
  type AnswerEscalation,
  type AnsweredEscalation,
  brokenCheckKey,
  type Escalation,
  type EscalationAnswer,
  mayBeAllowedOnce,
} from '../domain/escalation.ts'
import type { QuestionItem } from '../domain/session.ts'
import { answerAtDeadline, lateAnswerError, whyNotOnce } from '../human/escalations.ts'
import { questionsIn } from '../human/questions.ts'
import { readAnswer } from '../human/read-answer.ts'
import type { SessionRow } from '../store/tables.ts'
import { type DaemonContext, getEscalations } from './context.ts'
import { deliverAnswer, isDue } from './deliver-answers.ts'
import { goOnAfterAnswer, refuseRedo } from './redo-task.ts'

/**
 * Answers an escalation. If it was refused already, the answer is only recorded; an open one is settled by the session that
 * resumes with it.
 */
export async function answerEscalation(
  number: number,
  answer: AnswerEscalation,
  daemon: DaemonContext,
): Promise<AnsweredEscalation> {
  const escalations = getEscalations(daemon)
  const escalation = await escalations.get(number)
  if (answer.again) await refuseAgain(escalation, answer, daemon)
  const { verdict, reason, env } = answer
  const goOn = async (answered: AnsweredEscalation) => {
    const given = { verdict: verdict ?? 'deny', reason, again: answer.again === true, env }
    return { ...answered, task: await goOnAfterAnswer(answered.escalation, given, daemon) }
  }
  // A person who has approved it already may still let its task be done again.
  if (answer.again && escalation.state === 'answered') return goOn(await escalations.allowOnce(number))
  if (escalation.state === 'answered' || escalation.state === 'withdrawn') throw lateAnswerError(escalation)
  const row = await daemon.store.sessions.get(escalation.session_id)
  const parked = row?.parked?.number === number ? row.parked : undefined
  const questions = parked && 'questions' in parked ? parked.questions : await questionsAtTerminal(escalation, daemon)
  if (escalation.kind === 'error' && answer.verdict === undefined) {
    const problem = 'it is an error: say --approve to try again, or --deny to leave the session as it is'
    throw new AppError('answer_unfit', { number, problem })
  }
  const asked = questions ?? questionsIn(escalation.input) ?? []
  const said = readAnswer(answer, escalation.kind === 'question' ? asked : undefined)
  if ('problem' in said) throw new AppError('answer_unfit', { number, problem: said.problem })
  const again = answer.again && { again: answer.again }
  const noted = escalation.state === 'denied' ? await escalations.answer(number, { ...said, ...again }) : undefined
  if (noted) return goOn(noted)
  if (row && escalation.kind === 'error') {
    const answered = await answerError(number, { said, row, env: answer.env }, daemon)
    if (said.verdict === 'allow') await tryOthersAgain(escalation, { said, env: answer.env }, daemon)
    return answered
  }
  // No call waits for the answer to a review, so the answer is only recorded.
  if (escalation.kind === 'review') return daemon.store.transaction(tx => escalations.settle(number, said, tx))
  return answerOpen(number, { said, env: answer.env }, daemon)
}

/** Throws if exactly this request cannot be allowed once more, or its task cannot be done again. */
async function refuseAgain(row: Escalation, { verdict, env }: AnswerEscalation, daemon: DaemonContext): Promise<void> {
  const { number } = row
  if (verdict !== 'allow') throw new AppError('answer_unfit', { number, problem: '--again belongs to --approve' })
  if (row.state === 'withdrawn' || (row.state === 'answered' && row.verdict !== 'allow')) throw lateAnswerError(row)
  if (!mayBeAllowedOnce(row)) throw new AppError('answer_unfit', { number, problem: whyNotOnce(row) })
  await refuseRedo(row, env, daemon)
}

interface ErrorAnswer {
  said: EscalationAnswer
  row: SessionRow
  env: AnswerEscalation['env']
}

/** After a yes, a session that ran out of retries tries once more; after a no, it stays as it is. */
async function answerError(number: number, { said, row, env }: ErrorAnswer, daemon: DaemonContext) {
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

/** A yes to checks that could not run counts for every task that waits for the same reason. A no is for one task alone. */
async function tryOthersAgain(
  { number, ...first }: Escalation,
  { said, env }: Pick<ErrorAnswer, 'said' | 'env'>,
  daemon: DaemonContext,
): Promise<void> {
  const key = brokenCheckKey(first)
  if (key === undefined) return
  const open = await getEscalations(daemon).list({ states: ['open'] })
  for (const other of open.filter(row => row.number !== number && brokenCheckKey(row) === key)) {
    const row = await daemon.store.sessions.get(other.session_id)
    if (!row) continue
    await answerError(other.number, { said, row, env }, daemon).catch(error => {
      // It is open again, and the person's list shows it.
      daemon.log.warn({ number: other.number, error }, 'a task whose checks could not run was not tried again')
    })
  }
}

interface OpenAnswer {
  said: EscalationAnswer
  /** The environment of the person who answers; without it each session resumes in the one it was last started with. */
  env: Record<string, string> | undefined
  /** The session that is resumed first; by default the one that the row names. */
  first?: string | undefined
}

/**
 * Answers an open escalation. The first session that can resume settles it, in the same transaction in which it resumes; then
 * every other session that waits for it gets the answer. If the daemon dies in between, the next one delivers it to the rest.
 */
export async function answerOpen(
  number: number,
  { said, env, first }: OpenAnswer,
  daemon: DaemonContext,
): Promise<AnsweredEscalation> {
  const { supervisor } = daemon
  const answeredThere = await answerAtTerminal(number, said, daemon)
  if (answeredThere) {
    await deliverToOthers(answeredThere, { said, env }, daemon)
    return answeredThere
  }
  let problem: unknown
  for (const row of await findParkedSessions(number, first, daemon)) {
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
  // No session is parked on this one: a session that asks the same again finds the remembered answer.
  return daemon.store.transaction(tx => getEscalations(daemon).settle(number, said, tx))
}

/** Whether the error concerns only this session, so that another one may still resume. */
function isForOneSession(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'account_differs' || error.code === 'ask_unknown')
}

/** The sessions that are parked on the escalation, the named one first. */
async function findParkedSessions(
  number: number,
  first: string | undefined,
  daemon: DaemonContext,
): Promise<SessionRow[]> {
  const { session_id } = await getEscalations(daemon).get(number)
  const ids = (await getEscalations(daemon).sessionsOf(number)).map(waiting => waiting.session_id)
  const start = first ?? session_id
  const ordered = [start, ...ids.filter(id => id !== start)]
  const rows = await Promise.all(ordered.map(id => daemon.store.sessions.get(id)))
  return rows.filter(row => row?.parked?.number === number).filter(row => row !== undefined)
}

/** Answers an ask at its terminal. Other sessions that wait for the same escalation get the answer too. */
export async function answerAsked(session: string, answer: AnswerAsk, daemon: DaemonContext): Promise<void> {
  const { store, terminals } = daemon
  const ask = terminals.open(session).find(({ ask_id }) => ask_id === answer.ask_id)
  const [last] = await store.events({ subject: session, tail: 1 })
  terminals.answer(session, answer)
  const number = ask?.kind === 'question' ? ask.number : undefined
  if (number === undefined || (await waitUntilStored({ number, session }, last?.id ?? 0, daemon)) === undefined) return
  const escalation = await getEscalations(daemon).get(number)
  const { verdict, answer: stored, answer_reason: reason } = escalation
  const said = {
    verdict: verdict ?? undefined,
    answer: stored ?? undefined,
    reason: reason ?? undefined,
    by: answer.by,
  }
  await deliverToOthers({ escalation, remembered: false }, { said, env: answer.env }, daemon)
}

/** Gives the answer to every other session that waits for it. They are read again, because more may have joined meanwhile. */
async function deliverToOthers(
  { escalation: settled }: AnsweredEscalation,
  { said, env }: OpenAnswer,
  daemon: DaemonContext,
): Promise<void> {
  const { number } = settled
  if (settled.kind === 'question') await answerOthersAtTerminals(number, said, daemon)
  const rows = (await findParkedSessions(number, undefined, daemon)).filter(isDue)
  const story = `Decision ${number} was answered, but this session could not go on with it`
  await Promise.all(
    rows.map(row => deliverAnswer({ row, settled, env: env ?? daemon.supervisor.envOf(row.id), story }, daemon)),
  )
}

/** Storing an answer takes milliseconds; a session that ends in between may never do it. */
const STORED_WITHIN_MS = 10_000

/**
 * Answers an escalation through the terminal at which it is asked right now, so that the first of two answers counts wherever
 * it came from. Returns when the session has stored the answer; undefined if it is not asked at a terminal, or was just parked.
 */
async function answerAtTerminal(
  number: number,
  said: EscalationAnswer,
  daemon: DaemonContext,
): Promise<AnsweredEscalation | undefined> {
  const { store, terminals } = daemon
  const row = await getEscalations(daemon).get(number)
  const asked = await findAskAtTerminal(row, daemon)
  const session = asked?.session ?? row.session_id
  const [last] = await store.events({ subject: session, tail: 1 })
  if (asked) terminals.answer(session, toTerminalAnswer(asked.ask, said))
  else if (!(await isBeingStored(row, daemon))) return undefined
  const remembered = await waitUntilStored({ number, session }, last?.id ?? 0, daemon)
  const escalation = await getEscalations(daemon).get(number)
  if (!asked && escalation.state === 'open') return undefined
  if (!asked || remembered === undefined) throw lateAnswerError(escalation)
  return { escalation, remembered }
}

/** Gives a settled answer to every other terminal at which the same is asked. */
async function answerOthersAtTerminals(number: number, said: EscalationAnswer, daemon: DaemonContext): Promise<void> {
  for (const { session_id: session } of await getEscalations(daemon).sessionsOf(number)) {
    for (const ask of daemon.terminals.open(session).filter(open => open.number === number)) {
      daemon.terminals.answer(session, { ...toTerminalAnswer(ask, said), settled: true })
    }
  }
}

/** The parts of a question that is asked at a terminal under this number, or is being parked right now. */
async function questionsAtTerminal(row: Escalation, daemon: DaemonContext): Promise<QuestionItem[] | undefined> {
  const asked = await findAskAtTerminal(row, daemon)
  if (asked) return asked.ask.kind === 'question' ? asked.ask.questions : undefined
  const parked = daemon.supervisor.run(row.session_id)?.agent.parking.get(row.call_id)?.parked
  return parked && 'questions' in parked ? parked.questions : undefined
}

async function findAskAtTerminal(
  { number }: Escalation,
  daemon: DaemonContext,
): Promise<{ session: string; ask: OpenAsk } | undefined> {
  for (const { session_id: session } of await getEscalations(daemon).sessionsOf(number)) {
    const ask = daemon.terminals.open(session).find(open => open.number === number)
    if (ask) return { session, ask }
  }
  return undefined
}

/**
 * Whether another answer was accepted a moment ago, or the ask is being parked right now: the session is at work and is not
 * parked on the escalation yet.
 */
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

/** Waits until the answer is stored and returns whether it is remembered; undefined if the session ended first. */
async function waitUntilStored({ number, session }: StoredAnswer, after: number, { store }: DaemonContext) {
  const signal = AbortSignal.timeout(STORED_WITHIN_MS)
  for await (const { kind, body } of store.follow(after, { subject: session, signal })) {
    if (kind === 'escalation.answered' && body.number === number) return body.remembered
    if (kind === 'session.ended') return undefined
  }
  return undefined
}

function toTerminalAnswer(ask: OpenAsk, { verdict, answer, reason, by, always }: EscalationAnswer) {
  const questions = ask.kind === 'question' ? ask.questions : []
  const answers = answer && Object.fromEntries(questions.map(({ question }, index) => [question, answer[index] ?? '']))
  return { ask_id: ask.ask_id, verdict, reason, by, always, ...(answers && { answers }) } satisfies AnswerAsk & {
    always: EscalationAnswer['always']
  }
}

/** The longest time between two checks: an escalation with a nearer deadline may be created meanwhile. */
const CHECK_EVERY_MS = 15_000

/** Settles escalations that nobody has answered by their deadline, until it is closed or the daemon stops. */
export function enforceDeadlines(daemon: DaemonContext, now: () => number = Date.now): Alarm {
  const { store, log } = daemon
  const alarm = new Alarm({
    async look() {
      // Nothing is answered between the stop and the close.
      if (daemon.stopping.aborted) return undefined
      const { rows, next } = await store.escalations.due(now())
      for (const row of rows) await settleLate(row, now(), daemon)
      return next === undefined ? CHECK_EVERY_MS : next - now()
    },
    failed: error => log.error({ error }, 'could not check the deadlines'),
  })
  void alarm.poke()
  return alarm
}

/** Settles one escalation. If that fails, it waits for a person without a deadline, so that it is not tried again and again. */
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
    if (daemon.stopping.aborted || isPassing(error)) return
    daemon.log.warn({ number, error }, 'could not be settled at its deadline; it waits for a person')
  }
  await daemon.store.transaction(tx => daemon.store.escalations.dropDeadline(number, tx))
}

/** Whether the problem passes, so that the next check tries again. */
function isPassing(error: unknown): boolean {
  return error instanceof AppError && error.code === 'disk_full'
}
