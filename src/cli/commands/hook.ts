import { parseReply } from '../connection/raw-request.ts'

// An ESM import of a built-in reads all its exports, and this runs for every call of an agent.
const { appendFileSync, readFileSync } = process.getBuiltinModule('node:fs')
const { connect } = process.getBuiltinModule('node:net')
const { join } = process.getBuiltinModule('node:path')

const USAGE = `Usage: pcc hook claude <event> --seat <folder>

Called by agents that pcc has started in a terminal (pcc start --host tmux), never by hand: hands an event to the
daemon and prints its answer. Where the daemon is away, calls are refused.
`

/** What a call may say of itself; more than this is not judged. */
const MOST_BYTES = 4_000_000
/** A daemon that has taken the connection decides in its own time; this is for one that hangs. */
const SILENT_MS = 70 * 60_000
/** News are told in passing: the agent does not wait for them. */
const NEWS_MS = 5_000
const AGAIN_MS = 250

/** Answers of events that decide about something, by what is said where nobody can be asked. */
const REFUSALS: Record<string, (reason: string) => unknown> = {
  PreToolUse: reason => ({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: reason,
    },
  }),
  PermissionRequest: reason => ({
    hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'deny', message: reason } },
  }),
  ConfigChange: reason => ({ decision: 'block', reason }),
}

/** Big, and told by the agent's own record of the conversation as well. */
const LEFT_OUT = ['tool_response', 'tool_calls', 'permission_suggestions']

interface HookEndpoint {
  session: string
  token: string
  socket: string
  away_ms: number
}

/** No hook, but told in the same way: the line under the input of the agent's terminal. */
const STATUS = 'StatusLine'

interface HookWords {
  event: string
  seat: string
}

/**
 * `pcc hook claude <event> --seat <folder>`: what an agent in a terminal runs for each of its events. The event goes to the daemon,
 * which decides. Where that does not work, a call is refused, with what a person can do; news are dropped. Nothing but the
 * answer is ever printed, and it ends in bounded time.
 */
export async function runHook(argv: readonly string[]): Promise<number> {
  const words = readWords(argv)
  if (!words) {
    const isAsked = argv.includes('--help')
    const out = isAsked ? process.stdout : process.stderr
    out.write(USAGE)
    return isAsked ? 0 : 2 // of a hook, 2 refuses the call
  }
  const refuse = REFUSALS[words.event]
  try {
    const seat = readHookEndpoint(words.seat)
    const body = readBody()
    const reply = await ask(seat, { event: words.event, body, waitsMs: refuse ? seat.away_ms : 0 })
    if (words.event === STATUS) process.stdout.write(statusLine(seat, reply))
    // Nothing printed lets a call run; only of a dialog it means that the person is asked.
    else if (!decides(words.event, reply)) throw new Error(UNDECIDED)
    else print(reply)
  } catch (error) {
    if (words.event === STATUS) process.stdout.write('pcc: the daemon is away, calls are refused\n')
    if (!refuse) return 0
    note(words.seat, words.event)
    print(refuse(`Not allowed: ${error instanceof Error ? error.message : String(error)}`))
  }
  return 0
}

function readWords([vendor, event, flag, seat, ...more]: readonly string[]): HookWords | undefined {
  const isKnown = vendor === 'claude' && event !== undefined && /^[A-Z][A-Za-z]{2,40}$/.test(event)
  return isKnown && flag === '--seat' && seat && more.length === 0 ? { event, seat } : undefined
}

function readHookEndpoint(folder: string): HookEndpoint {
  try {
    return JSON.parse(readFileSync(join(folder, 'seat.json'), 'utf8')) as HookEndpoint
  } catch {
    throw new Error('this session is over for pcc. Start it again: pcc list, then pcc resume <session>.')
  }
}

function readBody(): string {
  const text = readFileSync(0, 'utf8')
  const input = JSON.parse(text) as Record<string, unknown>
  for (const name of LEFT_OUT) delete input[name]
  const body = JSON.stringify(input)
  if (Buffer.byteLength(body) > MOST_BYTES)
    throw new Error('the call is too large to be judged. Make it in smaller steps.')
  return body
}

interface HookRequest {
  event: string
  body: string
  waitsMs: number
}

/** A daemon that is being started anew is waited for, within bounds. */
async function ask(seat: HookEndpoint, { event, body, waitsMs }: HookRequest): Promise<unknown> {
  const until = performance.now() + waitsMs
  for (;;) {
    const reply = await once(seat, { event, body, patienceMs: waitsMs > 0 ? SILENT_MS : NEWS_MS })
    if (reply !== 'away') return reply
    if (performance.now() >= until) throw new Error(AWAY)
    await new Promise(resolve => setTimeout(resolve, AGAIN_MS))
  }
}

const UNDECIDED = 'the daemon of pcc did not decide. A person looks at it with: pcc doctor'

const AWAY =
  'the daemon of pcc is away, and nobody else may decide. Wait, and do nothing else; a person brings it back with: pcc daemon start'

function once(seat: HookEndpoint, { event, body, patienceMs }: Omit<HookRequest, 'waitsMs'> & { patienceMs: number }) {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const connection = connect(seat.socket)
  let bytes = Buffer.alloc(0)
  const finish = (closed: boolean) => {
    const reply = parseReply(bytes, closed)
    if (!reply && !closed) return
    connection.destroy()
    if (!reply) return resolve('away') // it went while it was asked
    try {
      resolve(readReply(reply.status, reply.bytes.toString()))
    } catch (error) {
      reject(error)
    }
  }
  connection.setTimeout(patienceMs, () => {
    connection.destroy()
    reject(new Error('the daemon of pcc does not answer. A person looks at it with: pcc doctor'))
  })
  connection.on('error', () => resolve('away'))
  connection.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    finish(false)
  })
  connection.on('close', () => finish(true))
  connection.write(
    `POST /hooks/claude/${event} HTTP/1.1\r\nHost: pcc\r\nAuthorization: Bearer ${seat.token}\r\nX-Pcc-Session: ${seat.session}\r\n` +
      `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return promise
}

/** The session is not at work yet, or not any more: that may pass, as a daemon that is away does. */
function readReply(status: number, text: string): unknown {
  if (status === 403 || status === 503) return 'away'
  if (status !== 200)
    throw new Error(`the daemon of pcc could not decide (${status}). A person looks at it with: pcc doctor`)
  return (JSON.parse(text) as { reply?: unknown }).reply
}

function statusLine({ session }: HookEndpoint, reply: unknown): string {
  return `pcc ${session}: ${(reply as { text?: string } | null)?.text ?? ''}\n`
}

function decides(event: string, reply: unknown): boolean {
  const said = reply as { decision?: unknown; hookSpecificOutput?: { permissionDecision?: unknown } } | null | undefined
  if (event === 'PreToolUse') return typeof said?.hookSpecificOutput?.permissionDecision === 'string'
  return event !== 'ConfigChange' || typeof said?.decision === 'string'
}

function print(reply: unknown): void {
  if (reply !== undefined && reply !== null) process.stdout.write(`${JSON.stringify(reply)}\n`)
}

/** The next daemon tells the agent that it may try again. */
function note(seat: string, event: string): void {
  try {
    if (event !== 'ConfigChange') appendFileSync(join(seat, 'refused'), `${event}\n`, { mode: 0o600 })
  } catch {
    // the session's folder is gone, and with it whoever would read this
  }
}
