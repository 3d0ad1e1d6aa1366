// An ESM import of a built-in module costs more than this: it reads every export, lazy ones too.
const { readFileSync } = process.getBuiltinModule('node:fs')
const { connect } = process.getBuiltinModule('node:net')

export interface RawReply {
  status: number
  headers: Record<string, string>
  body: string
}

export interface RawRequest {
  socket: string
  tokenFile: string
  path: string
  timeoutMs?: number
}

/**
 * One GET over the daemon's socket, written by hand: `node:http` alone doubles the start-up of a hot command.
 * Nobody listening (no socket, no token, a dead one) is `undefined`; the caller then starts the daemon.
 */
export async function rawGet({
  socket,
  tokenFile,
  path,
  timeoutMs = 15_000,
}: RawRequest): Promise<RawReply | undefined> {
  const token = readToken(tokenFile)
  if (token === undefined) return undefined
  return new Promise((resolve, reject) => {
    const connection = connect(socket)
    const chunks: Buffer[] = []
    const finish = (closed: boolean) => {
      const reply = parseReply(Buffer.concat(chunks), closed)
      if (!reply && !closed) return
      connection.destroy()
      resolve(reply)
    }
    connection.setTimeout(timeoutMs, () => connection.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)))
    connection.on('connect', () =>
      connection.write(
        `GET ${path} HTTP/1.1\r\nHost: pcc\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\nConnection: close\r\n\r\n`,
      ),
    )
    connection.on('data', chunk => {
      chunks.push(chunk)
      finish(false)
    })
    connection.on('end', () => finish(true))
    connection.on('error', (error: NodeJS.ErrnoException) => (isAbsent(error) ? resolve(undefined) : reject(error)))
  })
}

/** Parses a whole reply; an unfinished one is `undefined` until the other side has closed. */
export function parseReply(bytes: Buffer, closed: boolean): RawReply | undefined {
  const split = bytes.indexOf('\r\n\r\n')
  if (split < 0) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, split).toString('latin1').split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const status = Number(statusLine.split(' ')[1])
  const rest = bytes.subarray(split + 4)
  if (headers['transfer-encoding'] === 'chunked') {
    const body = joinChunks(rest)
    return body === undefined ? undefined : { status, headers, body }
  }
  const length = headers['content-length']
  if (length === undefined) return closed ? { status, headers, body: rest.toString('utf8') } : undefined
  if (rest.length < Number(length)) return undefined
  return { status, headers, body: rest.subarray(0, Number(length)).toString('utf8') }
}

function joinChunks(bytes: Buffer): string | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    if (size === 0) return Buffer.concat(parts).toString('utf8')
    const start = lineEnd + 2
    if (!Number.isInteger(size) || bytes.length < start + size + 2) return undefined
    parts.push(bytes.subarray(start, start + size))
    at = start + size + 2
  }
}

function readToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined // no token: no daemon has run here; starting one writes it
  }
}

function isAbsent(error: NodeJS.ErrnoException): boolean {
  return ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ECONNRESET', 'EPIPE'].includes(error.code ?? '')
}
