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
 * from. Comes back when the session has stored it; nothing where it is not asked at a terminal.
 */
export async function answerAtTerminal(
  number: number,
  said: EscalationAnswer,
  world: World,
): Promise<AnsweredEscalation | undefined> {
  const { store, terminals } = world
  const row = await escalationsOf(world).get(number)
  const [last] = await store.events({ subject: row.session_id, tail: 1 })
  const ask = askNumbered(row, world)
  if (ask) terminals.answer(row.session_id, answerTo(ask, said))
  else if (!(await isBeingStored(row, world))) return undefined
  const remembered = await stored(row, last?.id ?? 0, world)
  const escalation = await escalationsOf(world).get(number)
  if (!ask || remembered === undefined) throw lateAnswer(escalation)
  return { escalation, remembered }
}

/** The parts of a question that is asked at a terminal under this number. */
export function questionsAtTerminal(row: Escalation, world: World): QuestionItem[] | undefined {
  return askNumbered(row, world)?.questions
}

type Question = Extract<OpenAsk, { kind: 'question' }>

function askNumbered({ number, session_id }: Escalation, { terminals }: World): Question | undefined {
  return terminals.open(session_id).find((ask): ask is Question => ask.kind === 'question' && ask.number === number)
}

/** Somebody else's answer was taken a moment ago: its session is at work and is not parked on it. */
async function isBeingStored({ number, session_id }: Escalation, { store, supervisor }: World): Promise<boolean> {
  if (!supervisor.run(session_id)) return false
  const session = await store.sessions.get(session_id)
  return session?.state !== 'ended' && session?.parked?.number !== number
}

/** Whether the answer is remembered, as soon as it is stored; undefined where the session ended first. */
async function stored({ number, session_id }: Escalation, after: number, { store }: World) {
  const signal = AbortSignal.timeout(STORED_WITHIN_MS)
  for await (const { kind, body } of store.follow(after, { subject: session_id, signal })) {
    if (kind === 'escalation.answered' && body.number === number) return body.remembered
    if (kind === 'session.ended') return undefined
  }
  return undefined
}

function answerTo({ ask_id, questions }: Question, { verdict, answer, reason, by, always }: EscalationAnswer) {
  const words = answer && Object.fromEntries(questions.map(({ question }, index) => [question, answer[index] ?? '']))
  return { ask_id, verdict, reason, by, always, ...(words && { answers: words }) } satisfies AnswerAsk & {
    always: EscalationAnswer['always']
  }
}
