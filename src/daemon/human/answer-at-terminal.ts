import type { AnswerAsk, OpenAsk } from '../../domain/api.ts'
import type { AnsweredEscalation, Escalation, EscalationAnswer } from '../../domain/escalation.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { lateAnswer } from '../../human/late-answer.ts'
import { escalationsOf } from '../routes/escalations-of.ts'
import type { World } from '../world.ts'

/** Storing an answer takes milliseconds; a session that ends in between may never do it. */
const STORED_WITHIN_MS = 10_000

/**
 * Answers by number what is asked at a terminal right now: there, so that of two answers the first counts wherever it came
 * from. Comes back when the session has stored it; nothing where it is not asked at a terminal, or is parked just now.
 */
export async function answerAtTerminal(
  number: number,
  said: EscalationAnswer,
  world: World,
): Promise<AnsweredEscalation | undefined> {
  const { store, terminals } = world
  const row = await escalationsOf(world).get(number)
  const asked = await askNumbered(row, world)
  const session = asked?.session ?? row.session_id
  const [last] = await store.events({ subject: session, tail: 1 })
  if (asked) terminals.answer(session, answerTo(asked.ask, said))
  else if (!(await isBeingStored(row, world))) return undefined
  const remembered = await stored({ number, session }, last?.id ?? 0, world)
  const escalation = await escalationsOf(world).get(number)
  if (!asked && escalation.state === 'open') return undefined
  if (!asked || remembered === undefined) throw lateAnswer(escalation)
  return { escalation, remembered }
}

/** Gives an answer that is settled to all who are asked the same at a terminal. */
export async function answerOthersAtTerminals(number: number, said: EscalationAnswer, world: World): Promise<void> {
  for (const { session_id: session } of await escalationsOf(world).sessionsOf(number)) {
    for (const ask of world.terminals.open(session).filter(each => each.number === number)) {
      world.terminals.answer(session, { ...answerTo(ask, said), settled: true })
    }
  }
}

/** The parts of a question that is asked at a terminal under this number, or is just being parked. */
export async function questionsAtTerminal(row: Escalation, world: World): Promise<QuestionItem[] | undefined> {
  const asked = await askNumbered(row, world)
  if (asked) return asked.ask.kind === 'question' ? asked.ask.questions : undefined
  const parked = world.supervisor.run(row.session_id)?.parking.get(row.call_id)?.parked
  return parked && 'questions' in parked ? parked.questions : undefined
}

async function askNumbered(
  { number }: Escalation,
  world: World,
): Promise<{ session: string; ask: OpenAsk } | undefined> {
  for (const { session_id: session } of await escalationsOf(world).sessionsOf(number)) {
    const ask = world.terminals.open(session).find(each => each.number === number)
    if (ask) return { session, ask }
  }
  return undefined
}

/** Somebody else's answer was taken a moment ago, or it is just being parked: its session is at work and is not parked on it yet. */
async function isBeingStored({ number, session_id }: Escalation, { store, supervisor }: World): Promise<boolean> {
  if (!supervisor.run(session_id)) return false
  const session = await store.sessions.get(session_id)
  return session?.state !== 'ended' && session?.parked?.number !== number
}

interface Stored {
  number: number
  session: string
}

/** Whether the answer is remembered, as soon as it is stored; undefined where the session ended first. */
export async function stored({ number, session }: Stored, after: number, { store }: World) {
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
