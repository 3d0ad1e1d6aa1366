import type { FastifyInstance } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { AnswerAsk } from '../../domain/api.ts'
import type { Answer } from '../../domain/session.ts'
import { misfit } from '../../human/terminals.ts'
import type { SessionRow } from '../../store/tables.ts'
import { checked } from '../http/errors.ts'
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
  const problem = misfit({ kind: 'question', ask_id: parked.ask_id, questions: parked.questions }, answer)
  if (problem) throw new AppError('bad_request', { route: ROUTE, problem })
  if (!answer.env) {
    throw new AppError('bad_request', { route: ROUTE, problem: 'env: needed, because the agent is started again' })
  }
  await world.supervisor.resumeParked(row, answerOf(answer), answer.env)
}

function answerOf({ answers, reason, by }: AnswerAsk): Answer {
  return answers ? { answers, by } : { declined: reason ?? 'the person does not want to answer; decide yourself', by }
}
