import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { HookListener } from '../../agents/tmux/session-folder.ts'
import { AppError } from '../../base/errors.ts'
import { AgentToolName } from '../../domain/agent-tools.ts'
import type { LiveSession } from '../../supervisor/session/context.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'
import { issueCapability, readBearer, verifyCapability } from './guard.ts'
import { findSession } from './sessions.ts'

const ToolParams = z.object({ name: AgentToolName })

/** The tools of a session for an agent that is not in this process (`pcc mcp`), by a capability for that session alone. */
export function toolRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/agent/tools', async request => ({ tools: callerOf(request, daemon).open.ownTools ?? [] }))

  app.post('/agent/tools/:name', async request => {
    const { name } = parseRequest(ToolParams, request.params, 'POST /agent/tools/:name')
    return daemon.supervisor.callTool(callerOf(request, daemon), name, request.body ?? {})
  })

  // For whoever holds the daemon's own token: what `pcc mcp` is started with.
  app.post('/sessions/:ref/capability', async request => {
    const { id } = await findSession(request.params, daemon)
    return { session: id, capability: issueCapability(id, daemon.token) }
  })
}

/** The live session that calls; its tools end with it. */
function callerOf(request: FastifyRequest, { token, supervisor }: DaemonContext): LiveSession {
  const session = verifyCapability(readBearer(request) ?? '', token)
  if (session === undefined) throw new AppError('unauthorized', {})
  const run = supervisor.run(session)
  if (!run || run.over || run.row.state === 'ended')
    throw new AppError('no_tools', { problem: `${session} is not at work` })
  return run
}

const HookParams = z.object({ event: z.string().regex(/^[A-Z][A-Za-z]{2,40}$/) })

/** Somewhat more than `pcc hook` sends. */
const MOST_BYTES = 4_500_000

/** Events of agents in terminals, each by the token of its own session: it opens nothing else, and no other token opens this. */
export function hookRoutes(app: FastifyInstance, daemon: Pick<DaemonContext, 'hooks'>): void {
  app.post('/hooks/claude/:event', { bodyLimit: MOST_BYTES }, async (request, reply) => {
    const { event } = parseRequest(HookParams, request.params, 'POST /hooks/claude/:event')
    const seat = hookTarget(request, daemon)
    const gone = new AbortController()
    // A hook that was ended waits for nothing any more.
    reply.raw.once('close', () => gone.abort())
    return { reply: (await seat.take({ event, input: request.body, signal: gone.signal })) ?? null }
  })
}

function hookTarget(request: FastifyRequest, { hooks }: Pick<DaemonContext, 'hooks'>): HookListener {
  const session = String(request.headers['x-pcc-session'] ?? '')
  const seat = hooks.seatOf(session, readBearer(request) ?? '')
  if (!seat) throw new AppError('hook_refused', { session: JSON.stringify(session.slice(0, 40)) })
  return seat
}
