// An ESM import of a built-in module costs more start-up time than this: it reads every export, the lazy ones too.
const { lstatSync, readFileSync } = process.getBuiltinModule('node:fs')

export interface RawReply {
  status: number
  headers: Record<string, string>
  /** The body as received: a body that is only printed need not be decoded. */
  bytes: Buffer
}

export interface RawRequest {
  socket: string
  /** See `readToken`. */
  token: string
  path: string
  method?: 'GET' | 'POST' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is, instead of `body`: JSON that need not be parsed on the way. */
  bytes?: Buffer
  headers?: Record<string, string>
  /** 0 waits without a limit. */
  timeoutMs?: number
  /** Receives the body of a successful answer piece by piece as it arrives; the reply then has an empty body. */
  take?: (piece: Buffer) => void
  signal?: AbortSignal | undefined
}

/** A running daemon answers within milliseconds, or within seconds on a badly overloaded machine. */
export const ANSWER_MS = 30_000

/**
 * Sends one request over the daemon's socket, written by hand because `node:http` alone doubles the start-up time of a hot
 * command. Returns `undefined` when nobody listens (no socket, or a dead one); the caller then starts the daemon.
 * A POST that was cut off is an error instead: it may have been carried out, so it must not be sent again.
 */
export async function rawRequest(request: RawRequest): Promise<RawReply | undefined> {
  const { socket, method = 'GET', timeoutMs = ANSWER_MS } = request
  if (isForeign(socket)) return undefined
  return new Promise((resolve, reject) => {
    const connection = process.getBuiltinModule('node:net').connect(socket)
    const chunks: Buffer[] = []
    let sent = false
    // A long answer is not parsed again with every piece: that would cost more than the answer itself.
    let [received, needed] = [0, 0]
    const resolveAbsent = (error: Error) => (sent && method === 'POST' ? reject(error) : resolve(undefined))
    let streamed: StreamedBody | undefined
    const forward = (piece: Buffer) => {
      if (!streamed?.add(piece)) return
      connection.destroy()
      resolve(streamed.reply)
    }
    const tryFinish = (closed: boolean) => {
      if (streamed) return reject(new Error('it closed the connection in the middle of its answer'))
      const bytes = Buffer.concat(chunks)
      streamed = request.take && startStreaming(bytes, request.take)
      if (streamed) return forward(streamed.first)
      const reply = parseReply(bytes, closed)
      if (!reply && !closed) {
        needed = expectedLength(bytes)
        return
      }
      connection.destroy()
      if (reply) resolve(reply)
      else resolveAbsent(new Error('it closed the connection without an answer'))
    }
    request.signal?.addEventListener('abort', () => connection.destroy(new Error('the caller no longer waits')))
    connection.setTimeout(timeoutMs, () => connection.destroy(timeoutError(timeoutMs)))
    connection.on('connect', () => {
      sent = true
      connection.write(`${method} ${request.path} HTTP/1.1\r\n${headersFor(request)}`)
      if (request.bytes) connection.write(request.bytes)
    })
    connection.on('data', chunk => {
      if (streamed) return forward(chunk)
      chunks.push(chunk)
      received += chunk.length
      if (received >= needed) tryFinish(false)
    })
    connection.on('end', () => tryFinish(true))
    connection.on('error', (error: NodeJS.ErrnoException) =>
      isDaemonAbsent(error) && !streamed ? resolveAbsent(error) : reject(error),
    )
  })
}

/** A home with a long path has its socket in /tmp, where another user could wait for our token and answer in the daemon's place. */
function isForeign(socket: string): boolean {
  if (!socket.startsWith('/tmp/')) return false
  try {
    const uid = lstatSync(socket, { throwIfNoEntry: false })?.uid
    return uid !== undefined && uid !== process.getuid?.()
  } catch {
    return false // there is a file in place of a folder: the connection says it
  }
}

/** A body that is handed to `take` while it arrives. */
interface StreamedBody {
  reply: RawReply
  first: Buffer
  /** Returns true for the last piece. */
  add(piece: Buffer): boolean
}

/** Starts once the head of a successful answer with a content length has arrived. */
function startStreaming(bytes: Buffer, take: (piece: Buffer) => void): StreamedBody | undefined {
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

function timeoutError(timeoutMs: number): Error {
  return Object.assign(new Error(`no answer within ${timeoutMs / 1000} s`), { code: 'ETIMEDOUT' })
}

function headersFor({ token, body, bytes, headers }: RawRequest): string {
  const more = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `Host: pcc\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\nConnection: close\r\n${more.join('')}`
  if (body === undefined && bytes === undefined) return `${head}\r\n`
  const text = bytes ? '' : JSON.stringify(body)
  const length = bytes?.length ?? Buffer.byteLength(text)
  return `${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${text}`
}

/** The length of the whole reply in bytes, or 0 while it is unknown. */
function expectedLength(bytes: Buffer): number {
  const head = parseHead(bytes)
  const length = head?.headers['content-length']
  return head && length !== undefined ? bytes.length - head.rest.length + Number(length) : 0
}

/** Parses a complete reply. Returns `undefined` while it is incomplete; one without a length is complete when `closed`. */
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

/** Parses the status and headers; `rest` is the bytes after them. Returns `undefined` while the head is incomplete. */
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

/** Reads the daemon's token. Without the file no daemon has run yet; a daemon that runs nevertheless refuses the empty token. */
export function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return 'none'
  }
}

function isDaemonAbsent(error: NodeJS.ErrnoException): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'ECONNREFUSED', 'ENOTSOCK', 'ECONNRESET', 'EPIPE'].includes(error.code ?? '')
}
