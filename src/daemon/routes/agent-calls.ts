import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { AgentToolName } from '../../domain/agent-tools.ts'
import type { LiveSession } from '../../supervisor/session/context.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'
import { issueCapability, readBearer, type SpeakerCheck, verifyCapability } from './guard.ts'
import { findSession } from './sessions.ts'

const ToolParams = z.object({ name: AgentToolName })

/** The tools of a session for an agent outside of this process (`pcc mcp`), which shows a capability for that session only. */
export function toolRoutes(app: FastifyInstance, daemon: DaemonContext, speakers: SpeakerCheck): void {
  app.get('/agent/tools', async request => {
    const live = await findCaller(request, daemon, speakers)
    return { tools: live.settings.open.ownTools ?? [] }
  })

  app.post('/agent/tools/:name', async request => {
    const { name } = parseRequest(ToolParams, request.params, 'POST /agent/tools/:name')
    return daemon.supervisor.callTool(await findCaller(request, daemon, speakers), name, request.body ?? {})
  })

  // Needs the daemon's own token: makes the capability that `pcc mcp` is started with.
  app.post('/sessions/:ref/capability', async request => {
    const { id } = await findSession(request.params, daemon)
    return { session: id, capability: issueCapability(id, daemon.token) }
  })
}

/**
 * The live session that calls; its tools end with it. Whoever reads the daemon's token can make the capability of any session, so the
 * agent of another session is refused.
 */
async function findCaller(
  request: FastifyRequest,
  { token, supervisor }: DaemonContext,
  speakers: SpeakerCheck,
): Promise<LiveSession> {
  const session = verifyCapability(readBearer(request) ?? '', token)
  if (session === undefined) throw new AppError('unauthorized', {})
  const run = supervisor.run(session)
  if (!run || run.control.over || run.row.state === 'ended')
    throw new AppError('no_tools', { problem: `${session} is not at work` })
  await speakers.refuseOtherAgents(request, run.row.marker)
  return run
}
