import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import {
  AnswerEscalation,
  type AnsweredEscalation,
  type Escalation,
  type EscalationAnswer,
  EscalationState,
  type EscalationView,
} from '../../domain/escalation.ts'
import { lateAnswer } from '../../human/late-answer.ts'
import { readAnswer } from '../../human/read-answer.ts'
import type { SessionRow } from '../../store/tables.ts'
import { checked } from '../http/errors.ts'
import { answerOpen } from '../human/answer-open.ts'
import type { World } from '../world.ts'
import { escalationsOf } from './escalations-of.ts'

const ListQuery = z.strictObject({ session: z.string().min(1).optional(), state: z.string().optional() })

/** What waits for a person, and their answers to it. */
export function escalationRoutes(app: FastifyInstance, world: World): void {
  const escalations = escalationsOf(world)

  app.get('/escalations', async request => {
    const query = checked(ListQuery, request.query, 'GET /escalations')
    const session = query.session === undefined ? undefined : (await world.store.sessions.resolve(query.session)).id
    const states = query.state === undefined ? undefined : statesOf(query.state)
    return { escalations: await shown(await escalations.list({ session, states }), world) }
  })

  app.get('/escalations/:number', async request => {
    const [view] = await shown([await escalations.get(numberOf(request.params))], world)
    return view
  })

  app.post('/escalations/:number/answer', async request => {
    const number = numberOf(request.params)
    const answer = checked(AnswerEscalation, request.body, 'POST /escalations/:number/answer')
    if (answer.verdict === undefined && answer.answer === undefined) {
      const problem = 'verdict: allow or deny, or answer: what you say to a question'
      throw new AppError('bad_request', { route: 'POST /escalations/:number/answer', problem })
    }
    const { escalation, remembered } = await answered(number, answer, world)
    world.log.info({ number, verdict: answer.verdict, by: answer.by, remembered }, 'decision answered')
    const [view] = await shown([escalation], world)
    return { escalation: view, remembered }
  })
}

/** A word on what was refused is noted; what is open is settled by the session that goes on with it. */
async function answered(number: number, answer: AnswerEscalation, world: World): Promise<AnsweredEscalation> {
  const escalations = escalationsOf(world)
  const found = await escalations.get(number)
  if (found.state === 'answered' || found.state === 'withdrawn') throw lateAnswer(found)
  const row = await world.store.sessions.get(found.session_id)
  const parked = row?.parked?.number === number ? row.parked : undefined
  const questions = parked && 'questions' in parked ? parked.questions : undefined
  if (found.kind === 'error' && answer.verdict === undefined) {
    const problem = 'it is an error: say --approve to try again, or --deny to leave the session as it is'
    throw new AppError('answer_unfit', { number, problem })
  }
  const said = readAnswer(answer, found.kind === 'question' ? (questions ?? []) : undefined)
  if ('problem' in said) throw new AppError('answer_unfit', { number, problem: said.problem })
  const noted = found.state === 'denied' ? await escalations.answer(number, said) : undefined
  if (noted) return noted
  if (row && found.kind === 'error') return answeredError(number, { said, row, env: answer.env }, world)
  // A review has no call that waits for a word: it is noted what was said.
  if (found.kind === 'review') return world.store.transaction(tx => escalations.settle(number, said, tx))
  return answerOpen(number, { said, env: answer.env }, world)
}

interface ErrorAnswer {
  said: EscalationAnswer
  row: SessionRow
  env: AnswerEscalation['env']
}

/** A yes to an error that was tried often enough tries once more; a no leaves the session as it is. */
async function answeredError(number: number, { said, row, env }: ErrorAnswer, world: World) {
  const escalations = escalationsOf(world)
  const answered = await world.store.transaction(tx => escalations.settle(number, said, tx))
  if (said.verdict !== 'allow') return answered
  try {
    await world.supervisor.resume(row, { env, reason: 'a person said to try again', actor: 'human' })
  } catch (error) {
    await world.store.transaction(tx => escalations.reopen(number, tx))
    throw error
  }
  return answered
}

async function shown(escalations: Escalation[], { store }: World): Promise<EscalationView[]> {
  const waiting = await store.escalations.sessionsOf(escalations.map(({ number }) => number))
  const sessions = Map.groupBy(waiting, ({ number }) => number)
  return escalations.map(({ fingerprint: _, dedup_key: __, ...row }) => {
    return { ...row, sessions: (sessions.get(row.number) ?? []).map(({ session_id }) => session_id) }
  })
}

function statesOf(text: string): EscalationState[] {
  return text.split(',').map(name => checked(EscalationState, name.trim(), 'GET /escalations?state='))
}

/** Not a number is a number nobody has. */
function numberOf(params: unknown): number {
  const { number } = params as { number: string }
  if (!/^[1-9]\d{0,8}$/.test(number)) throw new AppError('escalation_unknown', { number: JSON.stringify(number) })
  return Number(number)
}
