import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { AgentToolName } from '../../domain/tools/agent-tools.ts'
import type { Run } from '../../supervisor/run.ts'
import { checked } from '../http/errors.ts'
import { bearerOf } from '../http/guard.ts'
import { sessionOf } from '../routes/sessions.ts'
import type { World } from '../world.ts'
import { capabilityOf, sessionOfCapability } from './capability.ts'

const Named = z.object({ name: AgentToolName })

/** The tools of a session for an agent that is not in this process (`pcc mcp`), by a capability for that session alone. */
export function toolRoutes(app: FastifyInstance, world: World): void {
  app.get('/agent/tools', async request => ({ tools: callerOf(request, world).open.ownTools ?? [] }))

  app.post('/agent/tools/:name', async request => {
    const { name } = checked(Named, request.params, 'POST /agent/tools/:name')
    return world.supervisor.callTool(callerOf(request, world), name, request.body ?? {})
  })

  // For whoever holds the daemon's own token: what `pcc mcp` is started with.
  app.post('/sessions/:ref/capability', async request => {
    const { id } = await sessionOf(request.params, world)
    return { session: id, capability: capabilityOf(id, world.token) }
  })
}

/** The live session that calls; its tools end with it. */
function callerOf(request: FastifyRequest, { token, supervisor }: World): Run {
  const session = sessionOfCapability(bearerOf(request) ?? '', token)
  if (session === undefined) throw new AppError('unauthorized', {})
  const run = supervisor.run(session)
  if (!run || run.over || run.row.state === 'ended')
    throw new AppError('no_tools', { problem: `${session} is not at work` })
  return run
}
