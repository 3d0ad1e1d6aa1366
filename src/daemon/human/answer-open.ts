import { AppError } from '../../base/errors.ts'
import type { AnswerAsk } from '../../domain/api.ts'
import type { AnsweredEscalation, EscalationAnswer } from '../../domain/escalation.ts'
import type { SessionRow } from '../../store/tables.ts'
import { escalationsOf } from '../routes/escalations-of.ts'
import type { World } from '../world.ts'
import { answerAtTerminal, answerOthersAtTerminals, stored } from './answer-at-terminal.ts'
import { bringAnswer, isDue } from './bring-answer.ts'

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
  world: World,
): Promise<AnsweredEscalation> {
  const { supervisor } = world
  const asked = await answerAtTerminal(number, said, world)
  if (asked) {
    await bringToOthers(asked, { said, env }, world)
    return asked
  }
  let problem: unknown
  for (const row of await waitingFor(number, first, world)) {
    try {
      const answered = await supervisor.resumeParked(row, { said, env: env ?? supervisor.envOf(row.id) })
      if (!answered) continue
      await bringToOthers(answered, { said, env }, world)
      return answered
    } catch (error) {
      if (!isForOneSession(error)) throw error
      problem ??= error
    }
  }
  if (problem !== undefined) throw problem
  // No session waits for this alone: one that asks it again finds it in what is remembered.
  return world.store.transaction(tx => escalationsOf(world).settle(number, said, tx))
}

/** What stands in the way of one session need not stand in the way of another. */
function isForOneSession(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'account_differs' || error.code === 'ask_unknown')
}

/** Those that are parked on it, the named one first. */
async function waitingFor(number: number, first: string | undefined, world: World): Promise<SessionRow[]> {
  const { session_id } = await escalationsOf(world).get(number)
  const ids = (await escalationsOf(world).sessionsOf(number)).map(each => each.session_id)
  const start = first ?? session_id
  const ordered = [start, ...ids.filter(id => id !== start)]
  const rows = await Promise.all(ordered.map(id => world.store.sessions.get(id)))
  return rows.filter(row => row?.parked?.number === number).filter(row => row !== undefined)
}

/** Answers what is asked at a terminal, there; where others wait for the same, they get the answer too. */
export async function answerHere(session: string, answer: AnswerAsk, world: World): Promise<void> {
  const { store, terminals } = world
  const ask = terminals.open(session).find(({ ask_id }) => ask_id === answer.ask_id)
  const [last] = await store.events({ subject: session, tail: 1 })
  terminals.answer(session, answer)
  const number = ask?.kind === 'question' ? ask.number : undefined
  if (number === undefined || (await stored({ number, session }, last?.id ?? 0, world)) === undefined) return
  const escalation = await escalationsOf(world).get(number)
  const { verdict, answer: heard, answer_reason: reason } = escalation
  const said = { verdict: verdict ?? undefined, answer: heard ?? undefined, reason: reason ?? undefined, by: answer.by }
  await bringToOthers({ escalation, remembered: false }, { said, env: answer.env }, world)
}

/** Read again: others may have joined up to the moment in which it was settled. */
async function bringToOthers(
  { escalation: settled }: AnsweredEscalation,
  { said, env }: OpenAnswer,
  world: World,
): Promise<void> {
  const { number } = settled
  if (settled.kind === 'question') await answerOthersAtTerminals(number, said, world)
  const rows = (await waitingFor(number, undefined, world)).filter(isDue)
  const story = `Decision ${number} was answered, but this session could not go on with it`
  await Promise.all(
    rows.map(row => {
      const envs = [...(env ? [env] : []), world.supervisor.envOf(row.id)]
      return bringAnswer({ row, settled, envs, story }, world)
    }),
  )
}
