import { rawRequest } from '../connection/raw-request.ts'

// An ESM import of a built-in reads all its exports, which is slow, and this runs for every call of an agent.
const { appendFileSync, readFileSync } = process.getBuiltinModule('node:fs')
const { join } = process.getBuiltinModule('node:path')

/** A call with a larger input is refused, not judged. */
const MAX_BYTES = 4_000_000
/** A daemon that accepted the connection may take its time to decide; this bound is for one that hangs. */
const DECISION_TIMEOUT_MS = 70 * 60_000
/** An event without a decision is only reported; the agent must not wait long for that. */
const REPORT_TIMEOUT_MS = 5_000
const RETRY_MS = 250

/** For each event that needs a decision, the reply that refuses it when the daemon cannot be asked. */
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

/** Large fields that the agent's own transcript holds as well. */
const OMITTED_FIELDS = ['tool_response', 'tool_calls', 'permission_suggestions']

interface HookEndpoint {
  session: string
  token: string
  socket: string
  away_ms: number
}

/** Not a hook, but reported in the same way: the status line under the input of the agent's terminal. */
const STATUS = 'StatusLine'

/** What an agent in a terminal calls. */
export interface TerminalHook {
  event: string
  /** The session's folder, which holds the endpoint. */
  folder: string
}

/**
 * `pcc hook claude <event> --seat <folder>`: an agent in a terminal runs this for each of its events. The event goes to the
 * daemon, which decides. If that fails, a call is refused, with what a person can do; an event without a decision is
 * dropped. Nothing but the answer is ever printed, and it ends in bounded time.
 */
export async function runTerminalHook(args: TerminalHook): Promise<number> {
  const refuse = REFUSALS[args.event]
  try {
    const endpoint = readHookEndpoint(args.folder)
    const body = readBody()
    const reply = await askDaemon(endpoint, { event: args.event, body, waitsMs: refuse ? endpoint.away_ms : 0 })
    if (args.event === STATUS) process.stdout.write(statusLine(endpoint, reply))
    // Empty output would let the call run, except for a permission dialog, where it means that the person is asked.
    else if (!hasDecision(args.event, reply)) throw new Error(UNDECIDED)
    else print(reply)
  } catch (error) {
    if (args.event === STATUS) process.stdout.write('pcc: the daemon is away, calls are refused\n')
    if (!refuse) return 0
    recordRefusal(args.folder, args.event)
    print(refuse(`Not allowed: ${error instanceof Error ? error.message : String(error)}`))
  }
  return 0
}

function readHookEndpoint(folder: string): HookEndpoint {
  try {
    return JSON.parse(readFileSync(join(folder, 'seat.json'), 'utf8')) as HookEndpoint
  } catch {
    throw new Error('this session is over for pcc. Start it again: pcc list, then pcc resume <session>.')
  }
}

function readBody(): object {
  const text = readFileSync(0, 'utf8')
  const input = JSON.parse(text) as Record<string, unknown>
  for (const name of OMITTED_FIELDS) delete input[name]
  if (Buffer.byteLength(JSON.stringify(input)) > MAX_BYTES)
    throw new Error('the call is too large to be judged. Make it in smaller steps.')
  return input
}

interface HookRequest {
  event: string
  body: object
  waitsMs: number
}

/** Waits a bounded time for a daemon that is being restarted. */
async function askDaemon(endpoint: HookEndpoint, { event, body, waitsMs }: HookRequest): Promise<unknown> {
  const until = performance.now() + waitsMs
  for (;;) {
    const reply = await sendOnce(endpoint, {
      event,
      body,
      patienceMs: waitsMs > 0 ? DECISION_TIMEOUT_MS : REPORT_TIMEOUT_MS,
    })
    if (reply !== 'away') return reply
    if (performance.now() >= until) throw new Error(AWAY)
    await new Promise(resolve => setTimeout(resolve, RETRY_MS))
  }
}

const UNDECIDED = 'the daemon of pcc did not decide. A person looks at it with: pcc doctor'

const AWAY =
  'the daemon of pcc is away, and nobody else may decide. Wait, and do nothing else; a person brings it back with: pcc daemon start'

async function sendOnce(
  { socket, token, session }: HookEndpoint,
  { event, body, patienceMs }: Omit<HookRequest, 'waitsMs'> & { patienceMs: number },
): Promise<unknown> {
  const headers = { 'X-Pcc-Session': session }
  const request = { socket, token, method: 'POST', path: `/hooks/claude/${event}`, headers, body } as const
  const reply = await rawRequest({ ...request, timeoutMs: patienceMs }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ETIMEDOUT') return undefined // the daemon ended during the request
    throw new Error('the daemon of pcc does not answer. A person looks at it with: pcc doctor')
  })
  return reply ? readReply(reply.status, reply.bytes.toString()) : 'away'
}

/** 403 and 503 mean that the session is not at work yet or any more: that may pass, like an absent daemon. */
function readReply(status: number, text: string): unknown {
  if (status === 403 || status === 503) return 'away'
  if (status !== 200)
    throw new Error(`the daemon of pcc could not decide (${status}). A person looks at it with: pcc doctor`)
  return (JSON.parse(text) as { reply?: unknown }).reply
}

function statusLine({ session }: HookEndpoint, reply: unknown): string {
  return `pcc ${session}: ${(reply as { text?: string } | null)?.text ?? ''}\n`
}

function hasDecision(event: string, reply: unknown): boolean {
  const output = reply as
    | { decision?: unknown; hookSpecificOutput?: { permissionDecision?: unknown } }
    | null
    | undefined
  if (event === 'PreToolUse') return typeof output?.hookSpecificOutput?.permissionDecision === 'string'
  return event !== 'ConfigChange' || typeof output?.decision === 'string'
}

function print(reply: unknown): void {
  if (reply !== undefined && reply !== null) process.stdout.write(`${JSON.stringify(reply)}\n`)
}

/** The next daemon reads this and tells the agent that it may try again. */
function recordRefusal(folder: string, event: string): void {
  try {
    if (event !== 'ConfigChange') appendFileSync(join(folder, 'refusals/refused'), `${event}\n`, { mode: 0o600 })
  } catch {
    // the session's folder is gone, so nobody would read this
  }
}
