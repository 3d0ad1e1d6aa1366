import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection that sends one request after the other. Reading as little as possible keeps the client out of the measurement. */
class Connection {
  readonly #socket: Socket
  #rest = ''
  #answered: ((status: number) => void) | undefined

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true).setEncoding('latin1')
    this.#socket.on('data', piece => this.#read(String(piece)))
  }

  get opened(): Promise<unknown> {
    return once(this.#socket, 'connect')
  }

  ask(request: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    this.#answered = resolve
    this.#socket.write(request, 'utf8')
    return promise
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(piece: string): void {
    this.#rest += piece
    const head = this.#rest.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = Number(/content-length: (\d+)/i.exec(this.#rest)?.[1] ?? 0)
    if (this.#rest.length < head + 4 + length) return
    const status = Number(this.#rest.slice(9, 12))
    this.#rest = this.#rest.slice(head + 4 + length)
    this.#answered?.(status)
  }
}

export interface Load {
  port: number
  connections: number
  requests: number
  /** The whole request, with the number that it is. */
  request(number: number): string
  status: number
}

/** Sends requests over some connections at once. Returns how many were answered in a second; the first ones are not counted. */
export async function sendLoad({ port, connections, requests, request, status }: Load): Promise<number> {
  const open = Array.from({ length: connections }, () => new Connection(port))
  await Promise.all(open.map(({ opened }) => opened))
  let sent = 0
  const send = async (until: number) => {
    await Promise.all(
      open.map(async connection => {
        while (sent < until) {
          const got = await connection.ask(request(sent++))
          if (got !== status) throw new Error(`the answer was ${got}, not ${status}`)
        }
      }),
    )
  }
  try {
    await send(Math.min(500, requests)) // the code gets warm, and the daemon looks who is there
    const [began, from] = [performance.now(), sent]
    await send(from + requests)
    return ((sent - from) * 1000) / (performance.now() - began)
  } finally {
    for (const connection of open) connection.close()
  }
}
