import { lookup } from 'node:dns/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { BlockList, connect, isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import type { SandboxNeeds } from '../../domain/agent-manifest.ts'

interface ProxyOptions {
  /** The Unix socket it listens at: the only way out of the sandbox. */
  socket: string
  listed: string[]
  /** Hears of what was refused, once for each destination. */
  refused(destination: string): void
}

/** The way out of a sandbox without a network: an HTTP proxy that knows which hosts may be reached. */
export async function openProxy({ socket, listed, refused }: ProxyOptions): Promise<AsyncDisposable> {
  const told = new Set<string>()
  const open = new Set<Duplex>()
  const keep = (stream: Duplex) => {
    open.add(stream)
    stream.on('error', () => stream.destroy()).once('close', () => open.delete(stream))
  }
  const admit = async (to: Destination): Promise<string | undefined> => {
    const address = isListed(to, listed) ? await addressOf(to) : undefined
    const name = `${to.host}:${to.port}`
    if (address === undefined && !told.has(name) && told.size < 100) {
      told.add(name)
      refused(name)
    }
    return address
  }
  const server = createServer((asked, reply) => void forward(asked, reply, admit).catch(() => reply.destroy()))
  server.on('connect', (asked, client, head) => {
    keep(client)
    void tunnel({ asked, client, head, admit, keep }).catch(() => client.destroy())
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(socket, resolve)
  await promise
  server.unref()
  return {
    async [Symbol.asyncDispose]() {
      for (const stream of open) stream.destroy()
      server.closeAllConnections()
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      await closed.promise
    },
  }
}

type Admit = (to: Destination) => Promise<string | undefined>

interface Tunnel {
  asked: IncomingMessage
  client: Duplex
  head: Buffer
  admit: Admit
  keep(stream: Duplex): void
}

async function tunnel({ asked, client, head, admit, keep }: Tunnel): Promise<void> {
  const url = `https://${asked.url}`
  const to = URL.canParse(url) ? destinationOf(new URL(url)) : undefined
  const address = to && (await admit(to))
  if (to === undefined || address === undefined) return void client.end(`HTTP/1.1 403 Forbidden\r\n\r\n${refusal(to)}`)
  const beyond: Socket = connect(to.port, address, () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n')
    if (head.length > 0) beyond.write(head)
    beyond.pipe(client).pipe(beyond)
  })
  keep(beyond)
  beyond.once('close', () => client.destroy())
  client.once('close', () => beyond.destroy())
}

async function forward(asked: IncomingMessage, reply: ServerResponse, admit: Admit): Promise<void> {
  const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : undefined
  const to = url?.protocol === 'http:' ? destinationOf(url) : undefined
  const address = to && (await admit(to))
  if (!url || !to || address === undefined) {
    reply.writeHead(403, { 'content-type': 'text/plain' }).end(refusal(to))
    return
  }
  const { 'proxy-connection': _, 'proxy-authorization': __, ...given } = asked.headers
  // What the client says there could name another host than the one that was allowed.
  const headers = { ...given, host: url.host }
  const path = `${url.pathname}${url.search}`
  const beyond = request({ host: address, port: to.port, method: asked.method, path, headers }, answer => {
    reply.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(reply)
  })
  beyond.on('error', () => reply.destroy())
  reply.once('close', () => beyond.destroy())
  asked.pipe(beyond)
}

/** A listed name that leads to this machine is not what was meant by it. */
async function addressOf({ host }: Destination): Promise<string | undefined> {
  if (isOwn(host)) return host === 'localhost' ? '127.0.0.1' : host
  const found = await lookup(host).catch(() => undefined)
  return found && !isOwn(found.address) ? found.address : undefined
}

function refusal(to: Destination | undefined): string {
  return `The sandbox does not let it reach ${to ? `${to.host}:${to.port}` : 'this'}: see agents.network.\n`
}

/** One destination: a host, in small letters, and a port. */
interface Destination {
  host: string
  port: number
}

/** The hosts that an agent may reach: those of the settings, of its vendor, and the address that its environment names in its place. */
export function hostsFor(listed: string[], needs: SandboxNeeds, env: Record<string, string | undefined>): string[] {
  const addresses = needs.addresses.flatMap(name => {
    const value = env[name]
    return value !== undefined && URL.canParse(value) ? [destinationOf(new URL(value))] : []
  })
  return [...listed, ...needs.hosts, ...addresses.map(({ host, port }) => `${host}:${port}`)]
}

/** Where an address leads. */
function destinationOf({ hostname, port, protocol }: URL): Destination {
  return { host: bare(hostname), port: Number(port) || (protocol === 'http:' ? 80 : 443) }
}

/**
 * Whether one of the listed hosts is this one. `*.name` is everything below a name, a star elsewhere stands for a part of a label. Without
 * a port the two of the web are meant. This machine's own addresses have to be named with their port.
 */
export function isListed({ host, port }: Destination, listed: string[]): boolean {
  return listed.some(entry => {
    const [, name = entry, given] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    if (given === undefined ? isOwn(host) || (port !== 80 && port !== 443) : Number(given) !== port) return false
    const pattern = bare(name)
    if (pattern.startsWith('*.')) return host.endsWith(pattern.slice(1))
    const source = pattern.split('*').map(escaped).join('[a-z0-9-]*')
    return new RegExp(`^${source}$`).test(host)
  })
}

/** The listed destinations on this machine: they get a listener of the same port inside. */
export function ownPorts(listed: string[]): number[] {
  return [...new Set(listed.flatMap(entry => (isOwn(bare(entry.replace(/:\d+$/, ''))) ? portOf(entry) : [])))]
}

/** Whether an address, or a name for one, is this machine's own or that of a cloud's keeper of secrets. */
export function isOwn(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  const kind = isIP(host)
  return kind !== 0 && (OWN.check(host, kind === 4 ? 'ipv4' : 'ipv6') || isOfThisMachine(host))
}

const OWN = new BlockList()
OWN.addSubnet('127.0.0.0', 8)
OWN.addSubnet('169.254.0.0', 16)
OWN.addAddress('0.0.0.0')
OWN.addAddress('::', 'ipv6')
OWN.addAddress('::1', 'ipv6')
OWN.addSubnet('fe80::', 10, 'ipv6')
// Where clouds keep secrets, besides 169.254.169.254.
OWN.addAddress('100.100.100.200')
OWN.addAddress('192.0.0.192')
OWN.addAddress('fd00:ec2::254', 'ipv6')

/** Looked up each time: a container's bridge may be new. */
function isOfThisMachine(host: string): boolean {
  return Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === host))
}

function portOf(entry: string): number[] {
  const port = /:(\d+)$/.exec(entry)?.[1]
  return port === undefined ? [] : [Number(port)]
}

function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}

function escaped(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
}

/** Where the proxy is found inside: the network there is empty, so every port is free. */
export const PROXY_PORT = 3128

/**
 * Runs inside, as the parent of the agent: the network there is a loopback with nothing on it. Listens where the agent looks for its proxy
 * and hands what it hears to the Unix socket of ours; the same for the ports of this machine that are listed. Then it starts the agent,
 * with its own standard streams, and ends as it ends. Plain JavaScript, for `node -e`.
 */
export const BRIDGE_SCRIPT = `
const net = require('node:net')
const { spawn } = require('node:child_process')
const { constants } = require('node:os')
const { socket, proxyPort, ports, command, args } = JSON.parse(process.argv[1])
const join = (a, b) => {
  a.pipe(b).pipe(a)
  for (const [one, other] of [[a, b], [b, a]]) one.on('error', () => other.destroy()).once('close', () => other.destroy())
}
const through = client => join(client, net.connect(socket))
const to = port => client => {
  client.on('error', () => client.destroy())
  const out = net.connect(socket, () => out.write('CONNECT 127.0.0.1:' + port + ' HTTP/1.1\\r\\nHost: 127.0.0.1:' + port + '\\r\\n\\r\\n'))
  out.on('error', () => client.destroy())
  let said = Buffer.alloc(0)
  const hear = chunk => {
    said = Buffer.concat([said, chunk])
    const end = said.indexOf('\\r\\n\\r\\n')
    if (end < 0) return
    out.off('data', hear)
    if (!said.subarray(0, 12).toString().endsWith(' 200')) return client.destroy()
    client.write(said.subarray(end + 4))
    join(client, out)
  }
  out.on('data', hear)
}
const listen = (port, heard) => new Promise((done, fail) => net.createServer({ allowHalfOpen: true }, heard).once('error', fail).listen(port, '127.0.0.1', done))
Promise.all([listen(proxyPort, through), ...ports.map(port => listen(port, to(port)))]).then(() => {
  const agent = spawn(command, args, { stdio: 'inherit' })
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2']) process.on(name, () => agent.kill(name))
  agent.once('error', error => { console.error(String(error)); process.exit(127) })
  agent.once('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code))
}, error => { console.error(String(error)); process.exit(126) })
`
