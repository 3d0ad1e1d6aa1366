import * as z from 'zod'
import type { GuardedChild } from '../../base/process/guardian.ts'
import { readJsonLines } from '../json-lines.ts'
import { MOST_TOKENS } from '../turns.ts'

/** After this many lines in a row that are no messages the connection is given up. */
const MAX_GARBAGE = 1000

export interface CodexListener {
  /** Every message as it arrived. */
  seen(message: Record<string, unknown>): void
  /** A notification of Codex. Notifications come in order, each before any later message. */
  notified(method: string, params: unknown): void
  /** A request of Codex. The signal aborts when Codex does not wait for the answer any more. */
  asked(method: string, params: unknown, signal: AbortSignal): Promise<unknown>
  garbage(line: string, count: number): void
  /** Reading has stopped for this reason. */
  gaveUp(reason: string): void
  /** Resolves when another message may be read. */
  room(): Promise<void>
}

interface PendingRequest {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** `codex app-server` over its pipes: JSON-RPC, one message per line, read in order and no faster than the messages are handled. */
export class CodexConnection {
  readonly closed: Promise<void>
  readonly #stdin: GuardedChild['stdin']
  readonly #listener: CodexListener
  readonly #waiting = new Map<number, PendingRequest>()
  readonly #asks = new Map<string | number, AbortController>()
  readonly #over = new AbortController()
  #sent = 0

  constructor({ stdin, stdout }: Pick<GuardedChild, 'stdin' | 'stdout'>, listening: CodexListener) {
    this.#stdin = stdin
    this.#listener = listening
    const { promise: hungUp, resolve } = Promise.withResolvers<void>()
    this.#over.signal.addEventListener('abort', () => resolve(), { once: true })
    this.closed = Promise.race([this.#read(stdout), hungUp]).then(() => this.close())
  }

  /** Sends a request to Codex. Rejects on an error answer, when Codex is gone, and on abort. */
  async request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const id = ++this.#sent
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const stop = () => reject(new Error('it was called off'))
    const either = AbortSignal.any([signal, this.#over.signal])
    this.#waiting.set(id, { resolve, reject })
    either.addEventListener('abort', stop, { once: true })
    if (either.aborted) stop()
    else this.#send({ id, method, params })
    try {
      return await promise
    } finally {
      this.#waiting.delete(id)
      either.removeEventListener('abort', stop)
    }
  }

  notify(method: string): void {
    this.#send({ method })
  }

  close(): void {
    this.#over.abort()
    for (const ask of this.#asks.values()) ask.abort()
    if (this.#stdin.writable) this.#stdin.end()
  }

  async #read(stdout: AsyncIterable<Buffer>): Promise<void> {
    let garbage = 0
    let inRow = 0
    try {
      for await (const line of readJsonLines(stdout)) {
        if (this.#over.signal.aborted) return
        if ('message' in line) {
          inRow = 0
          this.#listener.seen(line.message)
          await this.#take(line.message)
          continue
        }
        this.#listener.garbage(line.garbage, ++garbage)
        if (++inRow < MAX_GARBAGE) continue
        return this.#listener.gaveUp(`wrote ${MAX_GARBAGE} lines in a row that are no messages`)
      }
    } catch {
      // A broken pipe is an end like any other.
    }
  }

  async #take(message: Record<string, unknown>): Promise<void> {
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#settle(message)
    if (typeof id === 'string' || typeof id === 'number') return void this.#answer(id, method, params)
    if (method === 'serverRequest/resolved') {
      const resolved = RequestResolved.safeParse(params).data
      return resolved && this.#asks.get(resolved.requestId)?.abort()
    }
    await this.#listener.room()
    this.#listener.notified(method, params)
  }

  #settle({ id, result, error }: Record<string, unknown>): void {
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined
    if (!waiting) return
    if (error === undefined) waiting.resolve(result)
    else waiting.reject(RpcError.safeParse(error).data ?? { code: 0, message: 'it answered with an error' })
  }

  async #answer(id: string | number, method: string, params: unknown): Promise<void> {
    const ask = new AbortController()
    this.#asks.set(id, ask)
    try {
      const result = await this.#listener.asked(method, params, ask.signal)
      this.#send({ id, result })
    } catch (error) {
      const { code, message } = error instanceof RpcRefusal ? error : new RpcRefusal('it could not be answered')
      this.#send({ id, error: { code, message } })
    } finally {
      this.#asks.delete(id)
    }
  }

  /** Sends nothing to a Codex that is gone; that it is gone is noticed elsewhere. */
  #send(message: object): void {
    if (this.#stdin.writable) this.#stdin.write(`${JSON.stringify(message)}\n`)
  }
}

const NO_SUCH_METHOD = -32601

/** The answer to a request of Codex that we do not support. */
export class RpcRefusal extends Error {
  readonly code = NO_SUCH_METHOD
}

/**
 * The parts of the protocol that are read here, as `codex app-server generate-ts` of the verified version describes them. Later versions add
 * fields and kinds at will: a message that is not understood must not stop the rest, and must not be taken for permission.
 */
const id = z.string().min(1)
const params = z.record(z.string(), z.unknown())
const maybe = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(undefined)

export const RpcError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() })
const RequestResolved = z.looseObject({ requestId: z.union([z.string(), z.number()]) })

export const Initialized = z.looseObject({ userAgent: z.string() })

/** The answer to `thread/start`, `thread/resume` and `thread/fork`: the policy that is really in force. */
export const ThreadOpened = z.looseObject({
  thread: z.looseObject({ id, path: maybe(z.string()) }),
  model: z.string(),
  approvalPolicy: z.unknown(),
  approvalsReviewer: z.unknown(),
  sandbox: z.looseObject({
    type: z.string(),
    networkAccess: z.unknown().optional(),
    writableRoots: z.array(z.string()).optional(),
    excludeSlashTmp: z.unknown().optional(),
    excludeTmpdirEnvVar: z.unknown().optional(),
  }),
})
export type ThreadOpened = z.infer<typeof ThreadOpened>

export const ThreadSettings = z.looseObject({
  threadId: id,
  threadSettings: z.looseObject({ approvalPolicy: z.unknown(), approvalsReviewer: z.unknown() }),
})

export const TurnBegun = z.looseObject({ turn: z.looseObject({ id }) })

const TurnError = z.looseObject({
  message: z.string(),
  codexErrorInfo: z.unknown(),
  additionalDetails: maybe(z.string()),
})
export type TurnError = z.infer<typeof TurnError>

export const TurnCompleted = z.looseObject({
  threadId: id,
  turn: z.looseObject({ id, status: z.string(), error: maybe(TurnError) }),
})
export const ErrorNotice = z.looseObject({ threadId: id, error: TurnError, willRetry: z.boolean() })

const CodexChange = z.looseObject({
  path: z.string().min(1),
  kind: z.looseObject({ type: z.string(), move_path: maybe(z.string()) }),
  diff: z.string(),
})
export type CodexChange = z.infer<typeof CodexChange>

/** Something that Codex does or says; its fields depend on its type. */
export const Item = z.looseObject({
  type: z.string(),
  id,
  status: maybe(z.string()),
  text: maybe(z.string()),
  summary: maybe(z.array(z.string())),
  command: maybe(z.string()),
  aggregatedOutput: maybe(z.string()),
  exitCode: maybe(z.number()),
  changes: maybe(z.array(CodexChange)),
  server: maybe(z.string()),
  tool: maybe(z.string()),
  arguments: z.unknown().optional(),
  result: z.unknown().optional(),
  error: maybe(z.looseObject({ message: z.string() })),
  contentItems: maybe(z.array(z.looseObject({ text: z.string().optional() }))),
})
export type Item = z.infer<typeof Item>

export const ItemNotice = z.looseObject({ threadId: id, item: Item })
export const Delta = z.looseObject({ threadId: id, itemId: id, delta: z.string() })
export const TerminalInput = z.looseObject({ itemId: id, stdin: z.string() })

/** The model's original call: only here it says that it wants to run outside of the sandbox. */
export const RawItem = z.looseObject({
  threadId: id,
  item: z.looseObject({ type: z.literal('function_call'), call_id: id, arguments: z.string() }),
})

export const PlanUpdated = z.looseObject({
  threadId: id,
  plan: z.array(z.looseObject({ step: z.string(), status: z.string() })),
})

const count = z
  .number()
  .nonnegative()
  .max(MOST_TOKENS)
  .nullish()
  .transform(value => value ?? 0)
const Tokens = z.looseObject({
  totalTokens: count,
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count,
  outputTokens: count,
})
export type Tokens = z.infer<typeof Tokens>
export const TokenUsage = z.looseObject({
  threadId: id,
  tokenUsage: z.looseObject({ total: Tokens, last: Tokens, modelContextWindow: maybe(z.number()) }),
})

const CodexLimitWindow = z.looseObject({
  usedPercent: z.number(),
  windowDurationMins: maybe(z.number()),
  resetsAt: maybe(z.number()),
})
export type CodexLimitWindow = z.infer<typeof CodexLimitWindow>
export const RateLimits = z.looseObject({
  rateLimits: z.looseObject({
    primary: maybe(CodexLimitWindow),
    secondary: maybe(CodexLimitWindow),
    rateLimitReachedType: maybe(z.string()),
  }),
})

/** The call that an ask is about. */
const askedCall = { threadId: id, itemId: id }

export const CommandAsk = z.looseObject({
  ...askedCall,
  kind: z.string().default('command'),
  command: maybe(z.string()),
  cwd: maybe(z.string()),
  reason: maybe(z.string()),
  networkApprovalContext: z.unknown().optional(),
  additionalPermissions: z.unknown().optional(),
  commandActions: maybe(z.array(z.looseObject({ type: z.string() }))),
})
export type CommandAsk = z.infer<typeof CommandAsk>

export const ChangeAsk = z.looseObject({ ...askedCall, grantRoot: maybe(z.string()) })

export const UserInputAsk = z.looseObject({
  ...askedCall,
  questions: z
    .array(
      z.looseObject({
        id: z.string(),
        header: z.string().catch(''),
        question: z.string().min(1),
        options: maybe(z.array(z.looseObject({ label: z.string(), description: z.string().catch('') }))),
      }),
    )
    .min(1),
})
export type UserInputAsk = z.infer<typeof UserInputAsk>

export const Elicitation = z.looseObject({
  threadId: id,
  serverName: z.string(),
  message: z.string().catch(''),
  _meta: maybe(z.looseObject({ codex_approval_kind: z.string().optional(), tool_params: z.unknown().optional() })),
})

export const OwnToolAsk = z.looseObject({
  threadId: id,
  callId: id,
  namespace: maybe(z.string()),
  tool: z.string(),
  arguments: params.catch({}),
})
