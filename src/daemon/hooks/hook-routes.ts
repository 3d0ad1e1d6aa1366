import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { HookSeat } from '../../agents/tmux/hooks/desk.ts'
import { AppError } from '../../base/errors.ts'
import { checked } from '../http/errors.ts'
import { bearerOf } from '../http/guard.ts'
import type { World } from '../world.ts'

const Named = z.object({ event: z.string().regex(/^[A-Z][A-Za-z]{2,40}$/) })

/** Somewhat more than `pcc hook` sends. */
const MOST_BYTES = 4_500_000

/** Events of agents in terminals, each by the token of its own session: it opens nothing else, and no other token opens this. */
export function hookRoutes(app: FastifyInstance, world: Pick<World, 'hooks'>): void {
  app.post('/hooks/claude/:event', { bodyLimit: MOST_BYTES }, async (request, reply) => {
    const { event } = checked(Named, request.params, 'POST /hooks/claude/:event')
    const seat = seatOf(request, world)
    const gone = new AbortController()
    // A hook that was ended waits for nothing any more.
    reply.raw.once('close', () => gone.abort())
    return { reply: (await seat.take({ event, input: request.body, signal: gone.signal })) ?? null }
  })
}

function seatOf(request: FastifyRequest, { hooks }: Pick<World, 'hooks'>): HookSeat {
  const session = String(request.headers['x-pcc-session'] ?? '')
  const seat = hooks.seatOf(session, bearerOf(request) ?? '')
  if (!seat) throw new AppError('hook_refused', { session: JSON.stringify(session.slice(0, 40)) })
  return seat
}
