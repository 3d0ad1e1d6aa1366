import { lookup } from 'node:dns/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { BlockList, connect, isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import type { SandboxNeeds } from './settings.ts'

interface ProxyOptions {
  /** The Unix socket of the proxy: the only way out of the sandbox. */
  socket: string
  listed: string[]
  /** Called once for each refused destination. */
  refused(destination: string): void
}

/** The way out of a sandbox without a network: an HTTP proxy that lets only listed hosts through. */
export function openProxy({ socket, listed, refused }: ProxyOptions): AsyncDisposable {
  const reported = new Set<string>()
  const open = new Set<Duplex>()
  const keep = (stream: Duplex) => {
    open.add(stream)
    stream.on('error', () => stream.destroy()).once('close', () => open.delete(stream))
  }
  const admit = async (to: Destination): Promise<string | undefined> => {
    const address = isListed(to, listed) ? await resolveAddress(to) : undefined
    const name = `${to.host}:${to.port}`
    if (address === undefined && !reported.has(name) && reported.size < 100) {
      reported.add(name)
      refused(name)
    }
    return address
  }
  const server = createServer((incoming, reply) => void forward(incoming, reply, admit).catch(() => reply.destroy()))
  server.on('connect', (incoming, client, head) => {
    keep(client)
    void tunnel({ incoming, client, head, admit, keep }).catch(() => client.destroy())
  })
  // It listens when this returns. Without it the agent reaches nothing, and reports that.
  server.on('error', error => refused(`all of it: ${error.message}`)).listen(socket)
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
  incoming: IncomingMessage
  client: Duplex
  head: Buffer
  admit: Admit
  keep(stream: Duplex): void
}

async function tunnel({ incoming, client, head, admit, keep }: Tunnel): Promise<void> {
  const url = `https://${incoming.url}`
  const to = URL.canParse(url) ? destinationOf(new URL(url)) : undefined
  const address = to && (await admit(to))
  if (to === undefined || address === undefined) return void client.end(`HTTP/1.1 403 Forbidden\r\n\r\n${refusal(to)}`)
  const upstream: Socket = connect(to.port, address, () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n')
    if (head.length > 0) upstream.write(head)
    upstream.pipe(client).pipe(upstream)
  })
  keep(upstream)
  upstream.once('close', () => client.destroy())
  client.once('close', () => upstream.destroy())
}

async function forward(incoming: IncomingMessage, reply: ServerResponse, admit: Admit): Promise<void> {
  const url = URL.canParse(incoming.url ?? '') ? new URL(incoming.url ?? '') : undefined
  const to = url?.protocol === 'http:' ? destinationOf(url) : undefined
  const address = to && (await admit(to))
  if (!url || !to || address === undefined) {
    reply.writeHead(403, { 'content-type': 'text/plain' }).end(refusal(to))
    return
  }
  const { 'proxy-connection': _, 'proxy-authorization': __, ...rest } = incoming.headers
  // The client's own `Host` header could name another host than the allowed one.
  const headers = { ...rest, host: url.host }
  const path = `${url.pathname}${url.search}`
  const upstream = request({ host: address, port: to.port, method: incoming.method, path, headers }, answer => {
    reply.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(reply)
  })
  upstream.on('error', () => reply.destroy())
  reply.once('close', () => upstream.destroy())
  incoming.pipe(upstream)
}

/** A listed name that resolves to this machine is refused, because that is not what was meant by it. */
async function resolveAddress({ host }: Destination): Promise<string | undefined> {
  if (isOwn(host)) return host === 'localhost' ? '127.0.0.1' : host
  const resolved = await lookup(host).catch(() => undefined)
  return resolved && !isOwn(resolved.address) ? resolved.address : undefined
}

function refusal(to: Destination | undefined): string {
  return `The sandbox does not let it reach ${to ? `${to.host}:${to.port}` : 'this'}: see agents.network.\n`
}

/** A destination: a host in lower case, and a port. */
interface Destination {
  host: string
  port: number
}

/** The hosts that an agent may reach: those of the settings, those of its vendor, and addresses that its environment names instead. */
export function hostsFor(listed: string[], needs: SandboxNeeds, env: Record<string, string | undefined>): string[] {
  const addresses = needs.addresses.flatMap(name => {
    const value = env[name]
    return value !== undefined && URL.canParse(value) ? [destinationOf(new URL(value))] : []
  })
  return [...listed, ...needs.hosts, ...addresses.map(({ host, port }) => `${host}:${port}`)]
}

/** The destination of a URL. */
function destinationOf({ hostname, port, protocol }: URL): Destination {
  return { host: normalizeHost(hostname), port: Number(port) || (protocol === 'http:' ? 80 : 443) }
}

/**
 * Whether a destination is among the listed hosts. `*.name` is everything below a name, a star elsewhere stands for a part of a label.
 * Without a port, 80 and 443 are meant. This machine's own addresses must be listed with their port.
 */
export function isListed({ host, port }: Destination, listed: string[]): boolean {
  return listed.some(entry => {
    const [, name = entry, listedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    const isPort =
      listedPort === undefined ? !isOwn(host) && (port === 80 || port === 443) : Number(listedPort) === port
    if (!isPort) return false
    const pattern = normalizeHost(name)
    if (pattern.startsWith('*.')) return host.endsWith(pattern.slice(1))
    const source = pattern.split('*').map(escapeRegExp).join('[a-z0-9-]*')
    return new RegExp(`^${source}$`).test(host)
  })
}

/** The ports of listed destinations on this machine: each gets a listener on the same port inside the sandbox. */
export function ownPorts(listed: string[]): number[] {
  return [...new Set(listed.flatMap(entry => (isOwn(normalizeHost(entry.replace(/:\d+$/, ''))) ? portOf(entry) : [])))]
}

/** Whether an address, or a name for one, is this machine's own or that of a cloud's metadata service. */
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
// Metadata services of clouds, besides 169.254.169.254.
OWN.addAddress('100.100.100.200')
OWN.addAddress('192.0.0.192')
OWN.addAddress('fd00:ec2::254', 'ipv6')

/** Read each time, because a container's bridge may be new. */
function isOfThisMachine(host: string): boolean {
  return Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === host))
}

function portOf(entry: string): number[] {
  const port = /:(\d+)$/.exec(entry)?.[1]
  return port === undefined ? [] : [Number(port)]
}

function normalizeHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}

function escapeRegExp(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
}

/** The port of the proxy inside the sandbox: the network there is empty, so every port is free. */
export const PROXY_PORT = 3128

/**
 * Runs inside the sandbox as the parent of the agent: the network there is an empty loopback. It listens on the agent's proxy port and
 * forwards connections to our Unix socket; it does the same for the listed ports of this machine. Then it starts the agent with its own
 * standard streams, and exits as the agent exits. Plain JavaScript, for `node -e`.
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
  let answer = Buffer.alloc(0)
  const read = chunk => {
    answer = Buffer.concat([answer, chunk])
    const end = answer.indexOf('\\r\\n\\r\\n')
    if (end < 0) return
    out.off('data', read)
    if (!answer.subarray(0, 12).toString().endsWith(' 200')) return client.destroy()
    client.write(answer.subarray(end + 4))
    join(client, out)
  }
  out.on('data', read)
}
const listen = (port, onConnection) => new Promise((done, fail) => net.createServer({ allowHalfOpen: true }, onConnection).once('error', fail).listen(port, '127.0.0.1', done))
Promise.all([listen(proxyPort, through), ...ports.map(port => listen(port, to(port)))]).then(() => {
  const agent = spawn(command, args, { stdio: 'inherit' })
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2']) process.on(name, () => agent.kill(name))
  agent.once('error', error => { console.error(String(error)); process.exit(127) })
  agent.once('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code))
}, error => { console.error(String(error)); process.exit(126) })
`
