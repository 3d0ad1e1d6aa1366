import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { AnswerEscalation, type Escalation, EscalationState } from '../../domain/escalation.ts'
import { checked } from '../http/errors.ts'
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
    return { escalations: (await escalations.list({ session, states })).map(shown) }
  })

  app.post('/escalations/:number/answer', async request => {
    const number = numberOf(request.params)
    const answer = checked(AnswerEscalation, request.body, 'POST /escalations/:number/answer')
    const { escalation, remembered } = await escalations.answer(number, answer)
    world.log.info({ number, verdict: answer.verdict, by: answer.by, remembered }, 'decision answered')
    return { escalation: shown(escalation), remembered }
  })
}

/** The fingerprint is the store's own business. */
function shown({ fingerprint: _, ...escalation }: Escalation): Omit<Escalation, 'fingerprint'> {
  return escalation
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
