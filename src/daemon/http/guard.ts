import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { sessionOfCapability } from '../mcp/capability.ts'
import { tokenMatches } from '../start/token.ts'

/**
 * The closed door: the Host must be ours (a web page that was tricked into talking to us would bring its own), and every
 * route but the bare health needs the token. Runs before a body is read.
 */
export function installGuard(app: FastifyInstance, token: string): void {
  app.addHook('onRequest', async request => {
    const host = request.headers.host ?? ''
    if (!OUR_HOST.test(host)) throw new AppError('wrong_host', { host: JSON.stringify(host) })
    if (request.headers.origin !== undefined) throw new AppError('wrong_host', { host: 'of a web page' })
    const isOpen = OPEN.has(request.routeOptions.url ?? '') || isForAgents(request, token)
    if (!isOpen && !hasToken(request, token)) throw new AppError('unauthorized', {})
  })
}

/** The bare health, and what has a token of its own: that of the session whose agent calls. */
const OPEN = new Set(['/health', '/hooks/claude/:event'])

/** Whether the request carries the bearer token. */
export function hasToken(request: FastifyRequest, token: string): boolean {
  const given = bearerOf(request)
  return given !== undefined && tokenMatches(given, token)
}

/** What the request is sent with. */
export function bearerOf(request: FastifyRequest): string | undefined {
  const [scheme, given] = (request.headers.authorization ?? '').split(' ')
  return scheme?.toLowerCase() === 'bearer' ? given : undefined
}

/** An agent's capability opens the routes of its tools, and no other. */
function isForAgents(request: FastifyRequest, token: string): boolean {
  const isTool = request.routeOptions.url?.startsWith('/agent/') === true
  return isTool && sessionOfCapability(bearerOf(request) ?? '', token) !== undefined
}

const OUR_HOST = /^(pcc|localhost)(:\d+)?$/i
