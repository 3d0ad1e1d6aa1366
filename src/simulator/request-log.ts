import { createHash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { AppError, messageOf } from '../base/errors.ts'
import type { LoggedBody } from './wires/wire.ts'

/** One request as it was understood, and its response. */
export interface LoggedRequest {
  /** The `request-id` of the answer. */
  id: string
  /** Milliseconds since the epoch. */
  time: number
  method: string
  path: string
  /** Without secrets: credentials are replaced by the start of their hash. */
  headers: Record<string, string>
  session: string
  model: string
  stream: boolean
  /** The size of the request. */
  bytes: number
  /** The first and the latest prompt of the conversation. */
  first_prompt: string
  prompt: string
  /** The tool results since the last answer. */
  tool_results: { text: string; failed: boolean }[]
  conversation: string | null
  /** The turn's place in the scenario, such as `greeting.turns[1]`. */
  turn: string | null
  /** `answer`, the fault's kind, `unmatched`, `exhausted`, `tokens`, `hello` or `refused`. */
  response: string
  status: number
  /** The keys of the turn's `expect` that did not hold. */
  unexpected: string[]
  body: LoggedBody
}

export interface RequestLog {
  requests: LoggedRequest[]
  add(request: LoggedRequest): void
  waitFor(match: (request: LoggedRequest) => boolean, signal?: AbortSignal): Promise<LoggedRequest>
  close(): void
}

interface LogOptions {
  file: string | undefined
  keep: number
  onRequest: ((request: LoggedRequest) => void) | undefined
}

/** Keeps the latest requests in memory and, with a file, all of them as JSON lines. */
export function openRequestLog({ file, keep, onRequest }: LogOptions): RequestLog {
  let descriptor = file === undefined ? undefined : openForAppend(file)
  const requests: LoggedRequest[] = []
  const waiting = new Set<(request: LoggedRequest) => void>()
  return {
    requests,
    add(request) {
      requests.push(request)
      if (requests.length > keep) requests.shift()
      if (descriptor !== undefined) writeSync(descriptor, `${JSON.stringify(request)}\n`)
      onRequest?.(request)
      for (const check of [...waiting]) check(request)
    },
    waitFor(match, signal) {
      const past = requests.find(match)
      if (past) return Promise.resolve(past)
      const { promise, resolve, reject } = Promise.withResolvers<LoggedRequest>()
      const check = (request: LoggedRequest) => match(request) && resolve(request)
      const abort = () => reject(signal?.reason)
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      waiting.add(check)
      return promise.finally(() => {
        waiting.delete(check)
        signal?.removeEventListener('abort', abort)
      })
    },
    close() {
      const open = descriptor
      // A late request must not be written to another file that got the same descriptor.
      descriptor = undefined
      if (open !== undefined) closeSync(open)
    },
  }
}

const SECRET = /^(authorization|proxy-authorization|x-api-key|cookie)$/

/** Headers for the log: credentials are hashed. */
export function withoutSecrets(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const text = Array.isArray(value) ? value.join(', ') : (value ?? '')
      return [name, SECRET.test(name) ? `sha256:${createHash('sha256').update(text).digest('hex').slice(0, 12)}` : text]
    }),
  )
}

function openForAppend(file: string): number {
  try {
    return openSync(file, 'a', 0o600)
  } catch (error) {
    const problem = `The log file ${file} cannot be written: ${messageOf(error)}`
    throw new AppError('usage', { problem, command: 'simulate' }, error)
  }
}
