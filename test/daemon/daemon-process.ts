import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'
import { type AppPaths, appPathsFor } from '../../src/base/app-paths.ts'
import type { SessionView } from '../../src/domain/api.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import { DAEMON_SCRIPT } from '../support/program.ts'
import { bareEnv, COMPILED, type Ending, tempDir } from '../support/world.ts'

export interface Reply<Body> {
  status: number
  body: Body
}

export interface Sent {
  body?: unknown
  headers?: Record<string, string | undefined>
  raw?: string
}

export interface DaemonProcess {
  home: string
  paths: AppPaths
  pid: number
  child: ChildProcess
  /** Resolves with the exit code. */
  ended: Promise<number | null>
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
  call<Body = any>(method: string, path: string, sent?: Sent): Promise<Reply<Body>>
  stream(path: string, headers?: Record<string, string>): Promise<EventStream>
}

export interface EventStream extends AsyncIterable<StoredEvent> {
  until(match: (event: StoredEvent) => boolean): Promise<StoredEvent[]>
  close(): void
}

export interface StartOptions {
  home?: string
  env?: Record<string, string>
  /** A daemon program other than the usual one. */
  script?: string
  /** A program that starts it, with its arguments. */
  wrapper?: readonly string[]
}

/** The first line that a starting daemon prints, and the process. */
export async function launch(t: Ending, options: StartOptions = {}) {
  const { home = tempDir(t), env = {}, script = DAEMON_SCRIPT, wrapper = [] } = options
  const childEnv = { ...bareEnv(home), PCC_HOME: `${home}/pcc`, ...COMPILED, ...env }
  const [command = process.execPath, ...args] = [...wrapper, process.execPath, script]
  const child = spawn(command, args, { env: childEnv, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines = createInterface({ input: child.stdout })
  const [line] = (await once(lines, 'line')) as [string]
  return { home, childEnv, child, ended, line: JSON.parse(line) as LaunchLine, paths: appPathsFor({ env: childEnv }) }
}

type LaunchLine = { ready: true; pid: number } | { error: { code: string; message: string; next: string } }

/** A daemon that is ready; it is ended with its test. */
export async function startDaemon(t: Ending, options: StartOptions = {}): Promise<DaemonProcess> {
  const { home, child, ended, line, paths } = await launch(t, options)
  if ('error' in line) throw new Error(`${line.error.code}: ${line.error.message}`)
  const { pid } = line
  return {
    home,
    paths,
    pid,
    child,
    ended,
    call: (method, path, sent = {}) => call(paths, { method, path, ...sent }),
    stream: (path, headers = {}) => openStream(paths, path, headers),
  }
}

/** Polls until the session's view satisfies `match`; the event stream says when to ask again. */
export async function viewWhen(
  daemon: Pick<DaemonProcess, 'call' | 'stream'>,
  id: string,
  match: (view: SessionView) => boolean,
): Promise<SessionView> {
  const stream = await daemon.stream(`/events?session=${id}`)
  try {
    for await (const _ of stream) {
      const { body } = await daemon.call<SessionView>('GET', `/sessions/${id}`)
      if (match(body)) return body
    }
  } finally {
    stream.close()
  }
  throw new Error(`session ${id} never got there`)
}

function headersFor(paths: AppPaths, more: Record<string, string | undefined> = {}): Record<string, string> {
  const all = { host: 'pcc', authorization: `Bearer ${readFileSync(paths.tokenFile, 'utf8').trim()}`, ...more }
  return Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
}

async function call<Body>(paths: AppPaths, sent: Sent & { method: string; path: string }): Promise<Reply<Body>> {
  const text = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body))
  const typed = text === undefined ? {} : { 'content-type': 'application/json' }
  const headers = headersFor(paths, { ...typed, ...sent.headers })
  const asked = request({ socketPath: paths.socket, method: sent.method, path: sent.path, headers, agent: false })
  asked.end(text)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  let body = ''
  for await (const chunk of response) body += chunk
  return { status: response.statusCode ?? 0, body: JSON.parse(body) as Body }
}

async function openStream(paths: AppPaths, path: string, headers: Record<string, string>): Promise<EventStream> {
  const asked = request({ socketPath: paths.socket, path, headers: headersFor(paths, headers), agent: false })
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  // Closing a stream on our side is an error for both of its ends.
  asked.on('error', () => {})
  response.on('error', () => {})
  const lines = createInterface({ input: response })
  // Asked for now: lines that come before anybody listens would be lost.
  const kept = lines[Symbol.asyncIterator]()
  async function* events(): AsyncGenerator<StoredEvent> {
    for await (const line of kept) if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as StoredEvent
  }
  const iterator = events()
  return {
    [Symbol.asyncIterator]: () => iterator,
    async until(match) {
      const seen: StoredEvent[] = []
      for (;;) {
        const { value, done } = await iterator.next()
        if (done) throw new Error(`the stream ended after ${seen.map(({ kind }) => kind).join(' ')}`)
        seen.push(value)
        if (match(value)) return seen
      }
    },
    close: () => {
      lines.close()
      asked.destroy()
    },
  }
}
