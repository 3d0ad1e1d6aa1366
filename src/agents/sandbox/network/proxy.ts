import { lookup } from 'node:dns/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Destination, destinationOf, isListed, isOwn } from './allowed.ts'

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
