import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { OPEN_ROUTES } from '../../domain/access.ts'
import type { Escalation } from '../../domain/escalation.ts'

/**
 * Guards every route: the Host header must be ours (a web page that was tricked into talking to us sends its own), and every
 * route but the bare health needs the token. Runs before a body is read.
 */
export function installGuard(app: FastifyInstance, token: string, speakers?: SpeakerCheck): void {
  app.addHook('onRequest', async request => {
    const host = request.headers.host ?? ''
    if (!OUR_HOST.test(host)) throw new AppError('wrong_host', { host: JSON.stringify(host) })
    if (request.headers.origin !== undefined) throw new AppError('wrong_host', { host: 'of a web page' })
    const isOpen = OPEN.has(request.routeOptions.url ?? '') || isForAgents(request, token)
    if (!isOpen && !hasToken(request, token)) throw new AppError('unauthorized', {})
    // Whoever attaches to a session counts as a person who is there.
    const changes = request.method !== 'GET' || 'attach' in (request.query as object)
    const isJudging = request.routeOptions.url === HOOK_ROUTE
    if (!isOpen && !isJudging && changes) await speakers?.refuseAgents(request)
  })
}

/** Refuses whoever may not speak with a person's authority. */
export interface SpeakerCheck {
  /** Throws if the caller is an agent, or cannot be found. Whoever has the token can read; only a person can change something. */
  refuseAgents(request: FastifyRequest): Promise<void>
  /** Throws if a HIGH request would be approved by somebody whom this system cannot identify. */
  refuseUnknownApproval(request: FastifyRequest, asked: Pick<Escalation, 'risk'>): void
  /** Throws if the caller is an agent other than the one with this marker. */
  refuseOtherAgents(request: FastifyRequest, marker: string | null): Promise<void>
}

/** Agents call it with the token: it judges them and grants nothing. */
export const HOOK_ROUTE = '/hooks/:vendor/:event'

/** The routes without the daemon's token: the bare health. */
const OPEN: ReadonlySet<string> = new Set(OPEN_ROUTES)

/** Whether the request carries the bearer token. */
export function hasToken(request: FastifyRequest, token: string): boolean {
  const given = readBearer(request)
  return given !== undefined && tokenMatches(given, token)
}

/** The bearer token of the request. */
export function readBearer(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const [scheme, given] = (request.headers.authorization ?? '').split(' ')
  return scheme?.toLowerCase() === 'bearer' ? given : undefined
}

/** Whether an agent's capability allows the request: it opens the routes of the session's tools and no other. */
function isForAgents(request: FastifyRequest, token: string): boolean {
  const isTool = request.routeOptions.url?.startsWith('/agent/') === true
  return isTool && verifyCapability(readBearer(request) ?? '', token) !== undefined
}

const OUR_HOST = /^(pcc|localhost)(:\d+)?$/i

/** The bearer token of this installation. It is made once and kept in a file that only its owner can read. */
export function loadToken(file: string): string {
  return readToken(file) ?? writeToken(file)
}

/** Compares in constant time, so that the duration does not reveal how much of the token was right. */
function tokenMatches(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token))
}

/** A token file that others could read, or that is no plain file of ours, is ignored, and a new token is made. */
function readToken(file: string): string | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (!stat?.isFile() || stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0) return undefined
  const token = readFileSync(file, 'utf8').trim()
  return token.length >= 32 ? token : undefined
}

/** Writes to another file and renames it, so that a crash leaves no half token. The caller holds the daemon's lock. */
function writeToken(file: string): string {
  const token = secretId()
  const aside = `${file}.new`
  rmSync(aside, { force: true })
  writeFileSync(aside, `${token}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(aside, file)
  return token
}

export function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * Makes the capability with which the agent of one session can call the tools of that session and nothing else: the session's
 * id with a signature that only a holder of the daemon's token can make. Nothing is stored, so it stays valid after a restart.
 */
export function issueCapability(session: string, token: string): string {
  return `${session}.${signSession(session, token)}`
}

/** The session that a capability is for; undefined if it is not one of ours. */
export function verifyCapability(given: string, token: string): string | undefined {
  const [session = '', signature = ''] = given.split('.')
  const expected = Buffer.from(signSession(session, token))
  const actual = Buffer.from(signature)
  return session !== '' && actual.length === expected.length && timingSafeEqual(actual, expected) ? session : undefined
}

function signSession(session: string, token: string): string {
  return createHmac('sha256', token).update(`tools of ${session}`).digest('base64url')
}
