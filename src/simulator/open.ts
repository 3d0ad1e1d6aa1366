import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import { faultEndings } from './fault-endings.ts'
import { handle } from './handle.ts'
import { type LoggedRequest, openRequestLog } from './request-log.ts'
import { parseScenario, readScenarioFile } from './scenario/read.ts'

export interface SimulatorOptions {
  /** A scenario file, or its text. */
  file?: string | undefined
  text?: string | undefined
  /** 0 takes a free one. */
  port?: number | undefined
  /** Every request is appended here as a JSON line. */
  log?: string | undefined
  /** How many requests stay in memory. */
  keep?: number | undefined
  clock?: Clock | undefined
  /** Called with every request that was logged. */
  onRequest?: ((request: LoggedRequest) => void) | undefined
}

export interface Simulator extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The latest requests, oldest first. */
  readonly requests: LoggedRequest[]
  /** The first request, past or to come, that matches. */
  waitForRequest(match: (request: LoggedRequest) => boolean, signal?: AbortSignal): Promise<LoggedRequest>
  close(): Promise<void>
}

/** Serves a scenario as the Messages API on 127.0.0.1. Closing ends every open answer. */
export async function openSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { file, text = '', port = 0, log: logFile, keep = 1000, clock = systemClock } = options
  const scenario = file === undefined ? parseScenario(text, 'scenario') : readScenarioFile(file)
  const log = openRequestLog({ file: logFile, keep, onRequest: options.onRequest })
  const closing = new AbortController()
  const endings = faultEndings({ clock, dir: file === undefined ? process.cwd() : dirname(file) })
  const desk = { scenario, clock, endings, log }
  const server = createServer(
    (incoming, response) => void handle({ incoming, response, closing: closing.signal }, desk),
  )
  // An agent that thinks about a tool for minutes keeps its connection; closing it under the agent would look like a fault.
  server.keepAliveTimeout = 600_000
  try {
    await listen(server, port)
  } catch (error) {
    log.close()
    throw error
  }
  const taken = (server.address() as AddressInfo).port
  const close = async () => {
    if (closing.signal.aborted) return
    closing.abort()
    const { promise, resolve } = Promise.withResolvers<void>()
    server.close(() => resolve())
    server.closeAllConnections()
    await promise
    log.close()
  }
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    requests: log.requests,
    waitForRequest: (match, signal) => log.waitFor(match, signal),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function listen(server: Server, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (error: NodeJS.ErrnoException) => {
    reject(error.code === 'EADDRINUSE' || error.code === 'EACCES' ? new AppError('port_taken', { port }, error) : error)
  })
  server.listen(port, '127.0.0.1', resolve)
  return promise
}
