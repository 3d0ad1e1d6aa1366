import type { FastifyInstance } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { AnswerAsk } from '../../domain/api.ts'
import type { EscalationAnswer } from '../../domain/escalation.ts'
import { misfit } from '../../human/terminals.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { checked } from '../http/errors.ts'
import { askOf } from '../http/view-of.ts'
import { answerOpen } from '../human/answer-open.ts'
import type { World } from '../world.ts'
import { sessionOf } from './sessions.ts'

const ROUTE = 'POST /sessions/:ref/answers'

/** Answers to what a session asks: at once while its agent waits, or by starting a parked one again. */
export function answerRoutes(app: FastifyInstance, world: World): void {
  app.post('/sessions/:ref/answers', async request => {
    const answer = checked(AnswerAsk, request.body, ROUTE)
    const row = await sessionOf(request.params, world)
    const parked = !world.supervisor.run(row.id) && row.parked?.ask_id === answer.ask_id
    if (parked) await answerParked(row, answer, world)
    else world.terminals.answer(row.id, answer)
    return { ok: true }
  })
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
