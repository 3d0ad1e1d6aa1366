import { type ClientApp, type ClientConnection, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'
import { linesOf } from '../../wire/lines.ts'
import { Initialized } from './schemas.ts'

/** After so many lines that are no messages nobody expects one any more. */
const MAX_GARBAGE = 1000

export interface Pipes {
  stdin: NodeJS.WritableStream & { readonly writable: boolean }
  stdout: AsyncIterable<Buffer>
}

export interface Listening {
  /** Every message as it came. */
  seen(message: Record<string, unknown>): void
  /** What the agent tells of its own accord, in order and before anything that comes after it. */
  updated(params: unknown): void
  garbage(line: string, count: number): void
  /** Resolves when another update may be taken. */
  room(): Promise<void>
}

/** One protocol connection over an agent's pipes. Updates are read in order, no faster than they are taken. */
export class AcpConnection {
  readonly #connection: ClientConnection
  #garbage = 0

  constructor(app: ClientApp, { stdin, stdout }: Pipes, listening: Listening) {
    const readable = ReadableStream.from(this.#messages(stdout, listening)) as ReadableStream<never>
    const writable = new WritableStream<unknown>({
      write: message =>
        new Promise<void>((resolve, reject) => {
          if (!stdin.writable) return reject(new Error('the agent takes no more input'))
          stdin.write(`${JSON.stringify(message)}\n`, error => (error ? reject(error) : resolve()))
        }),
    })
    this.#connection = app.connect({ readable, writable })
  }

  get closed(): Promise<void> {
    return this.#connection.closed
  }

  /** Says hello; a version that is not ours is a failure. */
  async initialize(capabilities: Record<string, unknown>, signal: AbortSignal): Promise<Initialized> {
    const answer = await this.request(
      'initialize',
      {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: capabilities,
        clientInfo: { name: 'perpetualcc', title: 'PerpetualCC', version: '1' },
      },
      signal,
    )
    const hello = Initialized.safeParse(answer).data
    if (!hello) throw new Error('its answer to initialize was not understood')
    if (hello.protocolVersion !== PROTOCOL_VERSION)
      throw new Error(`it speaks version ${hello.protocolVersion} of the protocol, not ${PROTOCOL_VERSION}`)
    return hello
  }

  /** Asks the agent for something. Rejects when it says no, when it is gone, and on abort. */
  async request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    // Not the signal's own reason: it has a code, like an error that the agent answered with.
    const stop = () => reject(new Error('it was called off'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await Promise.race([aborted, this.#connection.agent.request<unknown, unknown>(method, params)])
    } finally {
      signal.removeEventListener('abort', stop)
      aborted.catch(() => undefined)
    }
  }

  /** Tells the agent something; one that is gone cannot be told, and that it is gone is seen elsewhere. */
  notify(method: string, params: unknown): void {
    this.#connection.agent.notify<unknown>(method, params).catch(() => undefined)
  }

  close(): void {
    this.#connection.close()
  }

  async *#messages(stdout: AsyncIterable<Buffer>, listening: Listening): AsyncGenerator<unknown> {
    for await (const line of linesOf(stdout)) {
      if ('garbage' in line) {
        this.#garbage++
        listening.garbage(line.garbage, this.#garbage)
        if (this.#garbage >= MAX_GARBAGE) return
        continue
      }
      const { message } = line
      listening.seen(message)
      if (message['method'] !== 'session/update' || 'id' in message) yield message
      else {
        await listening.room()
        listening.updated(message['params'])
      }
    }
  }
}
