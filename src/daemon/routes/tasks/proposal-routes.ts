import type { FastifyInstance } from 'fastify'
import { ProposeTasks } from '../../../domain/tasks/proposal.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'

/** What an agent would make of what a person wants. It takes minutes, and ends when the one who asked has left. */
export function proposalRoutes(app: FastifyInstance, { supervisor }: World): void {
  app.post('/tasks/propose', async (request, reply) => {
    const wanted = checked(ProposeTasks, request.body, 'POST /tasks/propose')
    const left = new AbortController()
    const leave = () => left.abort()
    reply.raw.once('close', leave)
    try {
      return await supervisor.proposals.tasks(wanted, left.signal)
    } finally {
      reply.raw.removeListener('close', leave)
    }
  })
}
