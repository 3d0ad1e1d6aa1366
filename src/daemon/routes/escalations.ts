import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { AnswerEscalation, type Escalation, EscalationState, type EscalationView } from '../../domain/escalation.ts'
import { checked } from '../http/errors.ts'
import { answerEscalation } from '../human/answer-escalation.ts'
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
    const { escalation, remembered } = await answerEscalation(number, answer, world)
    world.log.info({ number, verdict: answer.verdict, by: answer.by, remembered }, 'decision answered')
    const [view] = await shown([escalation], world)
    return { escalation: view, remembered }
  })
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
