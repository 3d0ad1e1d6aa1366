import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
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
  /** The process that answers. */
  pid: number
}

export interface Answered {
  perSecond: number
  /** Processor time of the process that answers, in microseconds for one request: it says more than the rate on a busy machine. */
  microseconds: number
}

/** Sends requests over some connections at once; the first ones are not counted. */
export async function sendLoad({ port, connections, requests, request, status, pid }: Load): Promise<Answered> {
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
    const [began, from, used] = [performance.now(), sent, processorTime(pid)]
    await send(from + requests)
    const count = sent - from
    return {
      perSecond: (count * 1000) / (performance.now() - began),
      microseconds: (processorTime(pid) - used) / count,
    }
  } finally {
    for (const connection of open) connection.close()
  }
}

/** The processor time of all threads of a process that are alive, in microseconds. */
function processorTime(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const used = threads.map(thread => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0])
  return used.reduce((sum, nanoseconds) => sum + Number(nanoseconds), 0) / 1000
}
