import type { FastifyInstance } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { AnswerAsk } from '../../domain/api.ts'
import type { EscalationAnswer } from '../../domain/escalation.ts'
import { misfit } from '../../human/terminals.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { checked } from '../http/errors.ts'
import { askOf } from '../http/view-of.ts'
import { answerHere, answerOpen } from '../human/answer-open.ts'
import type { World } from '../world.ts'
import { sessionOf } from './sessions.ts'

const ROUTE = 'POST /sessions/:ref/answers'

/** Answers to what a session asks: at once while its agent waits, or by starting a parked one again. */
export function answerRoutes(app: FastifyInstance, world: World): void {
  app.post('/sessions/:ref/answers', async request => {
    const answer = checked(AnswerAsk, request.body, ROUTE)
    const row = await parkedBy(await sessionOf(request.params, world), answer.ask_id, world)
    if (row.state === 'ended' && row.parked?.ask_id === answer.ask_id) await answerParked(row, answer, world)
    else await answerHere(row.id, answer, world)
    return { ok: true }
  })

  // A key was touched where something is asked: whoever sits there is not taken for absent.
  app.post('/sessions/:ref/presence', async request => {
    world.terminals.stir((await sessionOf(request.params, world)).id)
    return { ok: true }
  })
}

/** Putting a call off takes its agent a moment. */
const PARKED_WITHIN_MS = 10_000

/** The session, when it is parked on what was asked at its terminal: an answer may come just when the grace is over. */
async function parkedBy(row: SessionRow, askId: string, { store, supervisor }: World): Promise<SessionRow> {
  const parking = supervisor.run(row.id)?.parking.values() ?? []
  if (row.state === 'ended' || ![...parking].some(({ parked }) => parked.ask_id === askId)) return row
  const signal = AbortSignal.timeout(PARKED_WITHIN_MS)
  for await (const { kind } of store.follow(0, { subject: row.id, signal })) {
    const now = kind === 'session.ended' ? await store.sessions.get(row.id) : undefined
    if (now?.state === 'ended') return now
  }
  return row
}

async function answerParked(row: SessionRow, answer: AnswerAsk, world: World): Promise<void> {
  const parked = row.parked
  if (!parked) return
  const problem = misfit(askOf(parked), answer)
  if (problem) throw new AppError('bad_request', { route: ROUTE, problem })
  if (!answer.env) {
    throw new AppError('bad_request', { route: ROUTE, problem: 'env: needed, because the agent is started again' })
  }
  const said = saidTo(parked, answer)
  if (parked.number === undefined) await world.supervisor.resumeParked(row, { said, env: answer.env })
  else await answerOpen(parked.number, { said, env: answer.env, first: row.id }, world)
}

/** The answers in the order of the questions: by their words they could not be found again where a secret was taken out. */
function saidTo(parked: Parked, { verdict, answers, reason, by }: AnswerAsk): EscalationAnswer {
  if (!('questions' in parked) || !answers) return { verdict, reason, by }
  return { answer: parked.questions.map(({ question }) => answers[question] ?? ''), reason, by }
}
