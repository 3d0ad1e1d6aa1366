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

/** The tools of a session for an agent outside of this process (`pcc mcp`), which shows a capability for that session only. */
export function toolRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/agent/tools', async request => ({ tools: findCaller(request, daemon).settings.open.ownTools ?? [] }))

  app.post('/agent/tools/:name', async request => {
    const { name } = parseRequest(ToolParams, request.params, 'POST /agent/tools/:name')
    return daemon.supervisor.callTool(findCaller(request, daemon), name, request.body ?? {})
  })

  // Needs the daemon's own token: makes the capability that `pcc mcp` is started with.
  app.post('/sessions/:ref/capability', async request => {
    const { id } = await findSession(request.params, daemon)
    return { session: id, capability: issueCapability(id, daemon.token) }
  })
}

/** The live session that calls; its tools end with it. */
function findCaller(request: FastifyRequest, { token, supervisor }: DaemonContext): LiveSession {
  const session = verifyCapability(readBearer(request) ?? '', token)
  if (session === undefined) throw new AppError('unauthorized', {})
  const run = supervisor.run(session)
  if (!run || run.control.over || run.row.state === 'ended')
    throw new AppError('no_tools', { problem: `${session} is not at work` })
  return run
}

const HookParams = z.object({ event: z.string().regex(/^[A-Z][A-Za-z]{2,40}$/) })

/** Somewhat more than `pcc hook` sends. */
const MOST_BYTES = 4_500_000

/** Hook events of agents in terminals. Each needs the token of its own session, which opens nothing else; no other token works. */
export function hookRoutes(app: FastifyInstance, daemon: Pick<DaemonContext, 'hooks'>): void {
  app.post('/hooks/claude/:event', { bodyLimit: MOST_BYTES }, async (request, reply) => {
    const { event } = parseRequest(HookParams, request.params, 'POST /hooks/claude/:event')
    const listener = findHookListener(request, daemon)
    const disconnected = new AbortController()
    // A hook process that was killed waits for no reply.
    reply.raw.once('close', () => disconnected.abort())
    return { reply: (await listener.take({ event, input: request.body, signal: disconnected.signal })) ?? null }
  })
}

function findHookListener(request: FastifyRequest, { hooks }: Pick<DaemonContext, 'hooks'>): HookListener {
  const session = String(request.headers['x-pcc-session'] ?? '')
  const listener = hooks.find(session, readBearer(request) ?? '')
  if (!listener) throw new AppError('hook_refused', { session: JSON.stringify(session.slice(0, 40)) })
  return listener
}
