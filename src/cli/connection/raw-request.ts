// An ESM import of a built-in module costs more than this: it reads every export, lazy ones too.
const { readFileSync } = process.getBuiltinModule('node:fs')
const { connect } = process.getBuiltinModule('node:net')

export interface RawReply {
  status: number
  headers: Record<string, string>
  /** As they came: what is only printed need not be read. */
  bytes: Buffer
}

export interface RawRequest {
  socket: string
  tokenFile: string
  path: string
  method?: 'GET' | 'POST' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  /** 0 waits for ever. */
  timeoutMs?: number
  /** Takes the body of a good answer as it comes; the reply has none then. */
  take?: (piece: Buffer) => void
}

/** Any daemon that runs answers within milliseconds, on a machine that is far too busy within seconds. */
export const ANSWER_MS = 30_000

/**
 * One request over the daemon's socket, written by hand: `node:http` alone doubles the start-up of a hot command.
 * Nobody listening (no socket, no token, a dead one) is `undefined`; the caller then starts the daemon. A POST that was
 * cut off is an error instead: it may have been obeyed, so it must not be sent again.
 */
export async function rawRequest(request: RawRequest): Promise<RawReply | undefined> {
  const { socket, tokenFile, method = 'GET', timeoutMs = ANSWER_MS } = request
  const token = tokenIn(tokenFile)
  if (token === undefined) return undefined
  return new Promise((resolve, reject) => {
    const connection = connect(socket)
    const chunks: Buffer[] = []
    let sent = false
    // Of a long answer: looking at all of it with every piece would cost more than the answer.
    let [received, needed] = [0, 0]
    const nobody = (error: Error) => (sent && method === 'POST' ? reject(error) : resolve(undefined))
    let passing: Passing | undefined
    const pass = (piece: Buffer) => {
      if (!passing?.add(piece)) return
      connection.destroy()
      resolve(passing.reply)
    }
    const finish = (closed: boolean) => {
      if (passing) return reject(new Error('it closed the connection in the middle of its answer'))
      const bytes = Buffer.concat(chunks)
      passing = request.take && passingOf(bytes, request.take)
      if (passing) return pass(passing.first)
      const reply = parseReply(bytes, closed)
      if (!reply && !closed) {
        needed = lengthOf(bytes)
        return
      }
      connection.destroy()
      if (reply) resolve(reply)
      else nobody(new Error('it closed the connection without an answer'))
    }
    connection.setTimeout(timeoutMs, () => connection.destroy(noAnswer(timeoutMs)))
    connection.on('connect', () => {
      sent = true
      connection.write(`${method} ${request.path} HTTP/1.1\r\n${headersFor(token, request.body)}`)
    })
    connection.on('data', chunk => {
      if (passing) return pass(chunk)
      chunks.push(chunk)
      received += chunk.length
      if (received >= needed) finish(false)
    })
    connection.on('end', () => finish(true))
    connection.on('error', (error: NodeJS.ErrnoException) =>
      isAbsent(error) && !passing ? nobody(error) : reject(error),
    )
  })
}

/** A body that is handed on while it comes. */
interface Passing {
  reply: RawReply
  first: Buffer
  /** True with the last piece. */
  add(piece: Buffer): boolean
}

/** Once the head of a good answer is there that says how long it is. */
function passingOf(bytes: Buffer, take: (piece: Buffer) => void): Passing | undefined {
  const head = parseHead(bytes)
  const length = head?.headers['content-length']
  if (!head || head.status >= 400 || length === undefined) return undefined
  const { status, headers, rest } = head
  let left = Number(length)
  const add = (piece: Buffer) => {
    left -= piece.length
    take(piece)
    return left <= 0
  }
  return { reply: { status, headers, bytes: Buffer.alloc(0) }, first: rest, add }
}

function noAnswer(timeoutMs: number): Error {
  return Object.assign(new Error(`no answer within ${timeoutMs / 1000} s`), { code: 'ETIMEDOUT' })
}

function headersFor(token: string, body: unknown): string {
  const head = `Host: pcc\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\nConnection: close\r\n`
  if (body === undefined) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** How many bytes a reply has in all, as far as its head tells. */
function lengthOf(bytes: Buffer): number {
  const head = parseHead(bytes)
  const length = head?.headers['content-length']
  return head && length !== undefined ? bytes.length - head.rest.length + Number(length) : 0
}

/** Parses a whole reply; an unfinished one is `undefined` until the other side has closed. */
export function parseReply(bytes: Buffer, closed: boolean): RawReply | undefined {
  const head = parseHead(bytes)
  if (!head) return undefined
  const { status, headers, rest } = head
  if (headers['transfer-encoding'] === 'chunked') {
    const body = joinChunks(rest)
    return body && { status, headers, bytes: body }
  }
  const length = headers['content-length']
  if (length === undefined) return closed ? { status, headers, bytes: rest } : undefined
  if (rest.length < Number(length)) return undefined
  return { status, headers, bytes: rest.subarray(0, Number(length)) }
}

/** Status and headers, and the bytes behind them; undefined while they are not all there. */
export function parseHead(bytes: Buffer): (Omit<RawReply, 'bytes'> & { rest: Buffer }) | undefined {
  const split = bytes.indexOf('\r\n\r\n')
  if (split < 0) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, split).toString('latin1').split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return { status: Number(statusLine.split(' ')[1]), headers, rest: bytes.subarray(split + 4) }
}

function joinChunks(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    if (size === 0) return Buffer.concat(parts)
    const start = lineEnd + 2
    if (!Number.isInteger(size) || bytes.length < start + size + 2) return undefined
    parts.push(bytes.subarray(start, start + size))
    at = start + size + 2
  }
}

/** The daemon's token, if one has ever run here. */
export function tokenIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined // no token: no daemon has run here; starting one writes it
  }
}

function isAbsent(error: NodeJS.ErrnoException): boolean {
  return ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ECONNRESET', 'EPIPE'].includes(error.code ?? '')
}
