import { type ClientApp, type ClientConnection, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'
import * as z from 'zod'
import { readJsonLines } from '../json-lines.ts'
import { MOST_COST_USD, MOST_TOKENS } from '../turns.ts'

/** After this many lines in a row that are no messages the connection is given up. */
const MAX_GARBAGE = 1000
/** No agent waits for more answers at once; further requests are refused, so that they cost nothing. */
const MAX_ASKS = 64
const TOO_MANY = { code: -32001, message: `Not allowed: ${MAX_ASKS} requests wait for an answer already.` }

export interface Pipes {
  stdin: NodeJS.WritableStream & { readonly writable: boolean }
  stdout: AsyncIterable<Buffer>
}

export interface AcpListener {
  /** Every message as it arrived. */
  seen(message: Record<string, unknown>): void
  /** An update of the agent. Updates come in order, each before any later message. */
  updated(params: unknown): void
  garbage(line: string, count: number): void
  /** Reading has stopped for this reason. */
  gaveUp(reason: string): void
  /** Resolves when another update may be read. */
  room(): Promise<void>
}

/** One protocol connection over an agent's pipes. Updates are read in order and no faster than they are handled. */
export class AcpConnection {
  readonly #connection: ClientConnection
  readonly #stdin: Pipes['stdin']
  /** Ids of the agent's requests that have no answer yet. */
  readonly #asks = new Set<unknown>()

  constructor(app: ClientApp, { stdin, stdout }: Pipes, listening: AcpListener) {
    this.#stdin = stdin
    const readable = ReadableStream.from(this.#messages(stdout, listening)) as ReadableStream<never>
    const writable = new WritableStream<Record<string, unknown>>({ write: message => this.#write(message) })
    this.#connection = app.connect({ readable, writable })
  }

  get closed(): Promise<void> {
    return this.#connection.closed
  }

  /** Does the handshake; another version of the protocol is a failure. */
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
    const initialized = Initialized.safeParse(answer).data
    if (!initialized) throw new Error('its answer to initialize was not understood')
    if (initialized.protocolVersion !== PROTOCOL_VERSION)
      throw new Error(`it speaks version ${initialized.protocolVersion} of the protocol, not ${PROTOCOL_VERSION}`)
    return initialized
  }

  /** Sends a request to the agent. Rejects on an error answer, when the agent is gone, and on abort. */
  async request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    // Not the signal's own reason: it has a code, like an error answer of the agent.
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

  /** Sends a notification; that an agent is gone is noticed elsewhere. */
  notify(method: string, params: unknown): void {
    this.#connection.agent.notify<unknown>(method, params).catch(() => undefined)
  }

  close(): void {
    this.#connection.close()
  }

  async #write(message: Record<string, unknown>): Promise<void> {
    if (message['method'] === undefined) this.#asks.delete(message['id'])
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (!this.#stdin.writable) throw new Error('the agent takes no more input')
    this.#stdin.write(`${JSON.stringify(message)}\n`, error => (error ? reject(error) : resolve()))
    await promise
  }

  async *#messages(stdout: AsyncIterable<Buffer>, listening: AcpListener): AsyncGenerator<unknown> {
    let garbage = 0
    let inRow = 0
    for await (const line of readJsonLines(stdout)) {
      if ('garbage' in line) {
        listening.garbage(line.garbage, ++garbage)
        if (++inRow < MAX_GARBAGE) continue
        return listening.gaveUp(`wrote ${MAX_GARBAGE} lines in a row that are no messages`)
      }
      inRow = 0
      const { message } = line
      listening.seen(message)
      const { method, id, params } = message
      if (method === undefined) yield message
      else if (id !== undefined) yield* this.#asked(message, listening)
      else if (method !== 'session/update') yield message
      else {
        await listening.room()
        listening.updated(params)
      }
    }
  }

  /** A request makes an event and is remembered until it is answered, so both are limited. */
  async *#asked(message: Record<string, unknown>, listening: AcpListener): AsyncGenerator<unknown> {
    const { id } = message
    await listening.room()
    if (this.#asks.size < MAX_ASKS && !this.#asks.has(id)) {
      this.#asks.add(id)
      yield message
    } else if (this.#stdin.writable) {
      // Awaited: from an agent that does not read its answers nothing more is read.
      const refusal = `${JSON.stringify({ jsonrpc: '2.0', id, error: TOO_MANY })}\n`
      await new Promise<void>(resolve => this.#stdin.write(refusal, () => resolve()))
    }
  }
}

/** The parts of the protocol that are read here. Agents add fields and kinds at will: a message that is not understood must not stop the rest. */
const Text = z.looseObject({ type: z.string(), text: z.string().optional() })
const Meta = z.record(z.string(), z.unknown()).nullish()

const Content = z.looseObject({
  type: z.string(),
  content: Text.optional(),
  path: z.string().optional(),
  oldText: z.string().nullish(),
  newText: z.string().optional(),
})
export type Content = z.infer<typeof Content>

/** A tool call, or an update of one. */
export const AcpToolCall = z.looseObject({
  toolCallId: z.string().min(1),
  title: z.string().nullish(),
  name: z.string().nullish(),
  kind: z.string().nullish(),
  status: z.string().nullish(),
  content: z.array(Content).nullish(),
  locations: z.array(z.looseObject({ path: z.string() })).nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: Meta,
})
export type AcpToolCall = z.infer<typeof AcpToolCall>

export const Chunk = z.looseObject({ content: Text, messageId: z.string().nullish(), _meta: Meta })

export const Plan = z.looseObject({
  entries: z.array(z.looseObject({ content: z.string(), status: z.string() })),
})

const tokens = z.number().nonnegative().max(MOST_TOKENS)

export const UsageUpdate = z.looseObject({
  used: tokens,
  size: tokens,
  cost: z
    .looseObject({ amount: z.number().nonnegative().max(MOST_COST_USD) })
    .nullish()
    .catch(undefined),
  _meta: Meta,
})

export const Compaction = z.looseObject({ status: z.string().optional() })
export const ModeUpdate = z.looseObject({ currentModeId: z.string() })

export const Update = z.looseObject({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string() }),
})

export const PermissionAsk = z.looseObject({
  sessionId: z.string(),
  toolCall: AcpToolCall,
  options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })),
})
export type PermissionAsk = z.infer<typeof PermissionAsk>

const capability = z.unknown().transform(value => typeof value === 'object' && value !== null)

export const Initialized = z.looseObject({
  protocolVersion: z.number(),
  agentInfo: z.looseObject({ version: z.string().optional() }).nullish(),
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().optional(),
      sessionCapabilities: z
        .looseObject({ resume: capability, fork: capability, list: capability })
        .catch({ resume: false, fork: false, list: false })
        .optional(),
    })
    .optional(),
  _meta: z
    .looseObject({ steering: z.looseObject({ supported: z.boolean() }).optional() })
    .nullish()
    .catch(undefined),
})
export type Initialized = z.infer<typeof Initialized>

const Modes = z.looseObject({
  currentModeId: z.string(),
  availableModes: z.array(z.looseObject({ id: z.string() })).default([]),
})

/** The answer to `session/new`, and to `resume`, `load` and `fork`. */
export const AcpOpened = z.looseObject({
  // Shown in one line, and named to the agent again: it cannot be cleaned.
  sessionId: z
    .string()
    .regex(/^[^\p{Cc}\u2028\u2029]{1,1000}$/u, 'the id of its session is not one line')
    .optional(),
  modes: Modes.nullish().catch(undefined),
  models: z.looseObject({ currentModelId: z.string() }).nullish().catch(undefined),
  configOptions: z
    .array(z.looseObject({ id: z.string(), currentValue: z.unknown() }))
    .nullish()
    .catch(undefined),
})
export type AcpOpened = z.infer<typeof AcpOpened>

const count = tokens.catch(0).default(0)

/** The end of a turn. Tokens are in one of two places, under one of two names. */
export const Stopped = z.looseObject({
  stopReason: z.string(),
  usage: z
    .looseObject({ inputTokens: count, outputTokens: count, cachedReadTokens: count, cachedWriteTokens: count })
    .nullish()
    .catch(undefined),
  _meta: z
    .looseObject({
      quota: z.looseObject({ token_count: z.looseObject({ input_tokens: count, output_tokens: count }) }).optional(),
    })
    .nullish()
    .catch(undefined),
})
export type Stopped = z.infer<typeof Stopped>

export const RpcError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() })
export type RpcError = z.infer<typeof RpcError>
