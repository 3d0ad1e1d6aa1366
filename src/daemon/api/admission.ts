import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { AppError } from '../../base/errors.ts'
import { type Caller, OPEN_ROUTES, OWNER } from '../../domain/access.ts'
import { API_PATH } from '../../domain/api-v1/route.ts'
import type { DaemonContext } from '../context.ts'
import type { SpeakerCheck } from '../routes/guard.ts'
import { openRateLimit } from './rate-limit.ts'

/** How requests reach the API from outside. */
export interface ApiDoor {
  /** The values of the Host header that are ours, in small letters. */
  hosts: ReadonlySet<string>
  /** The address at which a web page of ours would be. */
  origins: ReadonlySet<string>
  /** Proxies that add TLS; if there are any, only they are answered. */
  proxies: readonly string[]
  requestsPerMinute: number
}

export interface AdmissionDeps {
  daemon: Pick<DaemonContext, 'authenticator' | 'person'>
  door: () => ApiDoor
  speakers: SpeakerCheck
  /** Whether a request came over the Unix socket, whose own guard has let it in. */
  isFromSocket(raw: IncomingMessage): boolean
}

/** Who sends a request. */
export interface AdmittedCallers {
  /** Undefined if the request was refused before that was known. */
  findCaller(request: FastifyRequest): Caller | undefined
  callerOf(request: FastifyRequest): Caller
  /** Throws if a HIGH request would be approved by a process on this machine that cannot be identified. */
  refuseUnknownApproval: (
    request: FastifyRequest,
    asked: Parameters<SpeakerCheck['refuseUnknownApproval']>[1],
  ) => Promise<void>
}

/** Wrong keys from one address in a minute: guessing is hopeless, but it must not cost us anything either. */
const WRONG_KEYS_PER_MINUTE = 60
/** How long it is known who is at the other end of a connection, for changes. Whoever only reads is looked at once. */
const IDENTIFIED_FOR_MS = 1_000

/**
 * Decides about every request before its body is read: the Host and Origin must be ours, a key must say who calls, and the process
 * at the other end must not be that of an agent or of a gate. There are no cookies, so a web page has nothing to ride on.
 */
export function installAdmission(app: FastifyInstance, deps: AdmissionDeps): AdmittedCallers {
  const { daemon, door, speakers, isFromSocket } = deps
  // A field of the request, because a weak map costs as much as the rest of the decision.
  app.decorateRequest(CALLER, undefined)
  const wrongKeys = openRateLimit(WRONG_KEYS_PER_MINUTE)
  const rates = openRateLimit(door().requestsPerMinute)
  const identify = openIdentification(speakers)
  const isFromHere = rememberOrigins()
  /** Returns a promise only if something must be waited for, which is seldom: a known key on a connection whose other end is known. */
  const admit = (request: FastifyRequest): Promise<void> | undefined => {
    if (isFromSocket(request.raw)) return void setCaller(request, { ...OWNER, name: daemon.person })
    refuseWrongPlace(request, door())
    const { proxies } = door()
    const isDirect = proxies.length === 0
    const isLocal = isDirect ? isFromHere(request.raw.socket) : comesFromHere(request, proxies)
    if (isOpenRoute(request)) return undefined
    const letIn = (caller: Caller): Promise<void> | undefined => {
      setCaller(request, caller)
      rates.count(caller.name)
      return isLocal ? identify(request) : undefined
    }
    const refuse = (error: unknown): never => {
      wrongKeys.count(request.raw.socket.remoteAddress ?? 'unknown')
      throw error
    }
    let caller: Caller | Promise<Caller>
    try {
      caller = daemon.authenticator.authenticate(request, isDirect ? request.raw.socket : undefined)
    } catch (error) {
      return refuse(error)
    }
    return caller instanceof Promise ? caller.catch(refuse).then(letIn) : letIn(caller)
  }
  app.addHook('onRequest', (request, _reply, done) => {
    const admitted = admit(request)
    if (admitted) void admitted.then(() => done(), done)
    else done()
  })
  return {
    findCaller,
    callerOf(request) {
      const caller = findCaller(request)
      if (!caller) throw new AppError('unauthorized', {})
      return caller
    },
    async refuseUnknownApproval(request, asked) {
      if (!isFromSocket(request.raw) && !comesFromHere(request, door().proxies)) return
      await speakers.refuseAgents(request)
      speakers.refuseUnknownApproval(request, asked)
    },
  }
}

const CALLER = Symbol('caller')

function setCaller(request: FastifyRequest & { [CALLER]?: Caller }, caller: Caller): void {
  request[CALLER] = caller
}

function findCaller(request: FastifyRequest & { [CALLER]?: Caller }): Caller | undefined {
  return request[CALLER]
}

function refuseWrongPlace({ headers }: FastifyRequest, { hosts, origins }: ApiDoor): void {
  const host = headers.host ?? ''
  if (!hosts.has(host.toLowerCase())) throw new AppError('api_host', { host: JSON.stringify(host.slice(0, 200)) })
  const { origin, 'sec-fetch-site': site } = headers
  const isForeign = (origin !== undefined && !origins.has(origin)) || site === 'cross-site' || site === 'same-site'
  if (isForeign) throw new AppError('api_origin', { origin: JSON.stringify((origin ?? 'elsewhere').slice(0, 200)) })
}

/** Whether the caller is a process of this machine, which can be looked at. Throws if a proxy is not listed, or hides who the caller is. */
function comesFromHere({ raw, headers }: FastifyRequest, proxies: readonly string[]): boolean {
  const { socket } = raw
  if (proxies.length === 0) return isOwnAddress(socket.remoteAddress, socket)
  const trusted = listAddresses(proxies)
  const address = plainAddress(socket.remoteAddress)
  if (!includes(trusted, address)) throw new AppError('api_proxy', { address })
  const client = findForwarded(headers, trusted)
  if (client === undefined || isIP(client) === 0 || isOwnAddress(client, socket))
    throw new AppError('api_local_proxy', {})
  return false
}

/** Whether the other end of a connection is on this machine, which stays so. */
function rememberOrigins(): (socket: Socket) => boolean {
  const known = new WeakMap<Socket, boolean>()
  return socket => {
    const before = known.get(socket)
    if (before !== undefined) return before
    const isOurs = isOwnAddress(socket.remoteAddress, socket)
    known.set(socket, isOurs)
    return isOurs
  }
}

/** Whatever stands before the last address that no proxy of ours has added is the client's own claim. */
function findForwarded(headers: FastifyRequest['headers'], trusted: BlockList): string | undefined {
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').map(plainAddress)
  return forwarded.findLast(one => !includes(trusted, one))
}

/** Where a request comes from, to count what one sender does. Who has an address of version 6 has all with the same first half. */
export function findSender({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>, { proxies }: ApiDoor): string {
  const own = plainAddress(raw.socket.remoteAddress)
  const address = proxies.length === 0 ? own : (findForwarded(headers, listAddresses(proxies)) ?? own)
  return isIP(address) === 6 ? ipaddr.parse(address).toNormalizedString().split(':', 4).join(':') : address
}

function plainAddress(address = ''): string {
  return address.trim().replace(/^::ffff:/i, '')
}

function listAddresses(addresses: readonly string[]): BlockList {
  const list = new BlockList()
  for (const address of addresses) {
    const [net = '', bits] = address.split('/')
    const family = isIP(net) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(net, family)
    else list.addSubnet(net, Number(bits), family)
  }
  return list
}

function includes(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4')
}

function isOwnAddress(address: string | undefined, { localAddress }: Pick<Socket, 'localAddress'>): boolean {
  const plain = plainAddress(address)
  if (plain === '' || plain === plainAddress(localAddress) || plain === '::1' || plain.startsWith('127.')) return true
  return Object.values(networkInterfaces()).some(all => all?.some(one => one.address === plain))
}

/**
 * Refuses processes of agents and gates, key or not. Finding out who is at the other end takes milliseconds, so it is known for a
 * second: an unmarked process cannot become an agent, except one that a person started and that calls its first hook meanwhile.
 */
function openIdentification(speakers: SpeakerCheck): (request: FastifyRequest) => Promise<void> | undefined {
  const known = new WeakMap<Socket, Identified>()
  return request => {
    const { socket, method } = request.raw
    const before = known.get(socket)
    const isEnough = before && (method === 'GET' || method === 'HEAD' || Date.now() - before.at < IDENTIFIED_FOR_MS)
    if (isEnough) return before.isDone ? undefined : before.looked
    const now: Identified = { at: Date.now(), isDone: false, looked: speakers.refuseAgents(request) }
    known.set(socket, now)
    now.looked.then(
      () => {
        now.isDone = true
      },
      () => known.delete(socket),
    )
    return now.looked
  }
}

interface Identified {
  at: number
  isDone: boolean
  looked: Promise<void>
}

const OPEN: ReadonlySet<string> = new Set(OPEN_ROUTES)

function isOpenRoute(request: FastifyRequest): boolean {
  // None of them is there, and asking for the route of a request is not cheap.
  return !request.raw.url?.startsWith(API_PATH) && OPEN.has(request.routeOptions.url ?? '')
}
