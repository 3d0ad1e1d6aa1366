import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'

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
  const given = readBearer(request)
  return given !== undefined && tokenMatches(given, token)
}

/** What the request is sent with. */
export function readBearer(request: FastifyRequest): string | undefined {
  const [scheme, given] = (request.headers.authorization ?? '').split(' ')
  return scheme?.toLowerCase() === 'bearer' ? given : undefined
}

/** An agent's capability opens the routes of its tools, and no other. */
function isForAgents(request: FastifyRequest, token: string): boolean {
  const isTool = request.routeOptions.url?.startsWith('/agent/') === true
  return isTool && verifyCapability(readBearer(request) ?? '', token) !== undefined
}

const OUR_HOST = /^(pcc|localhost)(:\d+)?$/i

/** The bearer token of this installation: made once, kept in a file that only its owner can read. */
export function loadToken(file: string): string {
  return readToken(file) ?? writeToken(file)
}

/** Compares without telling by its duration how much of the token was right. */
function tokenMatches(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token))
}

/** A token that others could read, or that is not a plain file of ours, is not used again: there will be a new one. */
function readToken(file: string): string | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (!found?.isFile() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) return undefined
  const token = readFileSync(file, 'utf8').trim()
  return token.length >= 32 ? token : undefined
}

/** Written aside and renamed, so that a crash leaves no half token. The caller holds the daemon's lock. */
function writeToken(file: string): string {
  const token = secretId()
  const aside = `${file}.new`
  rmSync(aside, { force: true })
  writeFileSync(aside, `${token}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(aside, file)
  return token
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * What lets the agent of one session call the tools of that session and nothing else: its id with a seal that only the holder of the
 * daemon's own token can make. Nothing is stored, and a restart changes nothing.
 */
export function issueCapability(session: string, token: string): string {
  return `${session}.${signSession(session, token)}`
}

/** The session that a capability is for; undefined where it is none of ours. */
export function verifyCapability(given: string, token: string): string | undefined {
  const [session = '', seal = ''] = given.split('.')
  const right = Buffer.from(signSession(session, token))
  const told = Buffer.from(seal)
  return session !== '' && told.length === right.length && timingSafeEqual(told, right) ? session : undefined
}

function signSession(session: string, token: string): string {
  return createHmac('sha256', token).update(`tools of ${session}`).digest('base64url')
}
