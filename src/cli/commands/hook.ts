import { LOOK, refuseHook } from '../../agents/hooks/refuse.ts'
import { type AppPaths, appPathsFor, dataDirectoryHint } from '../../base/app-paths.ts'
import { HOOK_VENDORS, type HookOutput, type HookVendor } from '../../domain/hooks.ts'
import type * as Inline from '../../supervisor/hooks/answer-inline.ts'
import type { HookCaller } from '../../supervisor/hooks/router.ts'
import { loadCompiled } from '../compiled-script.ts'
import { rawRequest, readToken } from '../connection/raw-request.ts'
import { runTerminalHook } from './hook-in-terminal.ts'

// An ESM import of a built-in reads all its exports, which is slow, and this runs for every call of an agent.
const { existsSync, readSync, writeSync } = process.getBuiltinModule('node:fs')
const { isAbsolute, join } = process.getBuiltinModule('node:path')

const USAGE = `Usage: pcc hook <${HOOK_VENDORS.join('|')}> <event> --home <folder> [--config <file>] [--data-dir <folder>]
       pcc hook claude <event> --seat <folder>

Called by agents, never by hand: reads an event from standard input and prints the answer in the agent's words. The
daemon answers; without one the same policy decides here. pcc hooks install makes agents call this. --seat is for agents
that pcc has started in a terminal (pcc start --host tmux): where the daemon is away, their calls are refused.
`

/** A larger event is not judged. */
const MAX_BYTES = 4_000_000

/**
 * How long an answer may take, by the vendor's event: less than the time for which the vendor waits as we install the hook (its
 * manifest; a test compares them). Gates run at a stop.
 */
const ANSWER_WITHIN_MS: Readonly<Record<string, number>> = {
  PreToolUse: 50_000,
  BeforeTool: 50_000,
  preToolUse: 50_000,
  PermissionRequest: 50_000,
  permissionRequest: 50_000,
  Stop: 570_000,
  SubagentStop: 570_000,
  AfterAgent: 570_000,
  agentStop: 570_000,
  subagentStop: 570_000,
}
/** Codex ends a hook at the end of a session after 3 s. */
const CODEX_END_MS = 2_000
const OTHER_WITHIN_MS = 8_000

export function answerWithinMs(vendor: HookVendor, event: string): number {
  return vendor === 'codex' && event === 'SessionEnd' ? CODEX_END_MS : (ANSWER_WITHIN_MS[event] ?? OTHER_WITHIN_MS)
}
const INLINE_SHARE = 0.5
/** The events before a call. */
const JUDGING = /^(PreToolUse|BeforeTool|preToolUse)$/

/**
 * How long the daemon is waited for; the rest is left for an answer without it. Before a call it only judges, so that one which takes
 * seconds stalls. Elsewhere it may ask a model or run gates.
 */
export function daemonWithinMs(vendor: HookVendor, event: string): number {
  return answerWithinMs(vendor, event) * (JUDGING.test(event) ? 0.1 : 1 - INLINE_SHARE)
}

interface RouterHook {
  vendor: HookVendor
  event: string
  home: string
  /** Variables that name other places than the standard ones. */
  chosen: Record<string, string>
}

/** `pcc hook`: nothing but the answer is ever printed, and it ends in bounded time. */
export async function runHook(argv: readonly string[]): Promise<number> {
  const [vendor = '', event = '', flag, folder = '', ...more] = argv
  const isRight = HOOK_VENDORS.some(known => known === vendor) && /^[A-Za-z]{3,41}$/.test(event) && folder !== ''
  if (isRight && flag === '--seat' && vendor === 'claude' && more.length === 0)
    return runTerminalHook({ event, folder })
  const chosen = isRight && flag === '--home' && isAbsolute(folder) ? readChosen(more) : undefined
  if (chosen) return runRouterHook({ vendor: vendor as HookVendor, event, home: folder, chosen })
  const isHelp = argv.includes('--help')
  const out = isHelp ? process.stdout : process.stderr
  out.write(USAGE)
  return isHelp ? 0 : 2 // exit code 2 of a hook refuses the call
}

/** The places that the launcher names; undefined if something else is there. Variables do not name them: a project may set those. */
function readChosen([flag, path = '', ...more]: readonly string[]): Record<string, string> | undefined {
  if (flag === undefined) return {}
  const name = { '--config': 'PCC_CONFIG', '--data-dir': 'PCC_DATA_DIRECTORY' }[flag]
  const others = name !== undefined && isAbsolute(path) ? readChosen(more) : undefined
  return others && name !== undefined ? { [name]: path, ...others } : undefined
}

/** Asks the daemon, or decides here by the same code if there is none, or it stalls or dies. */
async function runRouterHook(hook: RouterHook): Promise<number> {
  const withinMs = answerWithinMs(hook.vendor, hook.event)
  const { stdout, stderr, exit } = await refuseUnlessAnswered(hook, withinMs, answerEvent(hook, withinMs))
  writeAll(1, stdout)
  writeAll(2, stderr)
  return exit
}

/** The answer; where it fails or comes too late, a refusal where the event decides something. */
export async function refuseUnlessAnswered(
  { vendor, event }: Pick<RouterHook, 'vendor' | 'event'>,
  withinMs: number,
  answer: Promise<HookOutput>,
): Promise<HookOutput> {
  const { promise: late, resolve } = Promise.withResolvers<HookOutput>()
  const deadline = setTimeout(() => resolve(refuseHook(vendor, event, TOO_SLOW)), withinMs)
  const given = answer.catch(error => {
    return refuseHook(vendor, event, `pcc could not judge this: ${messageOf(error)}. ${LOOK}`)
  })
  return Promise.race([given, late]).finally(() => clearTimeout(deadline))
}

const TOO_SLOW = `pcc did not decide in time. ${LOOK}`
const TOO_LARGE = 'It is too large to be judged. Make it in smaller steps.'
const UNREADABLE = `pcc could not read this event. ${LOOK}`

async function answerEvent({ vendor, event, home, chosen }: RouterHook, withinMs: number): Promise<HookOutput> {
  const env = { ...ownEnvironment(home), ...chosen }
  const stdin = readStdin()
  if (stdin === undefined) return refuseHook(vendor, event, TOO_LARGE)
  const caller: HookCaller = { id: eventId(), ppid: process.ppid, folder: process.cwd(), env }
  const paths = await findPaths(env)
  const said = await askDaemon(paths, { vendor, event, stdin, caller, timeoutMs: daemonWithinMs(vendor, event) })
  if (said === 'unreadable') return refuseHook(vendor, event, UNREADABLE)
  if (said !== 'away') return said
  const request = { vendor, native: event, stdin, caller, paths, withinMs: withinMs * INLINE_SHARE }
  const compiled = loadCompiled<typeof Inline>(INLINE, join(home, 'hooks', 'cache'))
  if (!compiled) return (await import('../../supervisor/hooks/answer-inline.ts')).answerInline(request)
  const answer = await compiled.exports.answerInline(request)
  // Most hooks are about a call, so what these need is kept.
  if (JUDGING.test(event)) compiled.keep()
  return answer
}

/** Beside the bundle of this file. */
const INLINE = join(import.meta.dirname, '../supervisor/hooks/answer-inline.cjs')
/**
 * A project's own settings may set variables for the hooks of its agent, so none of ours counts here but the mark of a session.
 * It is checked before it means anything.
 */
function ownEnvironment(home: string): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith('PCC_') || name === 'PCC_SESSION_MARK') env[name] = value
  }
  return { ...env, PCC_HOME: home }
}

async function findPaths(env: Record<string, string | undefined>): Promise<AppPaths> {
  const paths = appPathsFor({ env })
  if (dataDirectoryHint(paths, env) === 'default') return paths
  return (await import('../../domain/config/load.ts')).resolvePaths({ env })
}

/** The same event may reach the store on two ways, by the daemon and by the outbox; it is stored once. */
function eventId(): string {
  return `${Date.now().toString(36)}-${process.pid.toString(36)}-${process.hrtime.bigint().toString(36)}`
}

interface DaemonQuestion {
  vendor: HookVendor
  event: string
  stdin: Buffer
  caller: HookCaller
  timeoutMs: number
}

/** Only what the daemon needs of the vendor's environment, and nothing that looks like a key. */
const SENT = /^(AGENT_|CLAUDE_|CODEX_|GEMINI_|COPILOT_|PCC_|HOME$)/
const SECRET = /TOKEN|KEY|SECRET|PASSWORD|AUTH|HEADER/
const MOST_VALUE_CHARS = 500
/** A server refuses more than 16 KB of headers. */
const MOST_HEADER_CHARS = 8_000

async function askDaemon(
  { socket, tokenFile }: AppPaths,
  { vendor, event, stdin, caller, timeoutMs }: DaemonQuestion,
): Promise<HookOutput | 'away' | 'unreadable'> {
  if (!existsSync(socket)) return 'away'
  const request = { socket, token: readToken(tokenFile), method: 'POST', path: `/hooks/${vendor}/${event}` } as const
  const headers = { 'X-Pcc-Caller': describeCaller(caller) }
  // A daemon that died in the middle is away too: the event has an id, so it is not stored twice.
  const reply = await rawRequest({ ...request, headers, bytes: stdin, timeoutMs }).catch(() => undefined)
  if (reply?.status === 400) return 'unreadable'
  if (reply?.status !== 200) return 'away'
  const { stdout, stderr, exit } = JSON.parse(reply.bytes.toString()) as HookOutput
  if (typeof stdout !== 'string' || typeof stderr !== 'string' || typeof exit !== 'number') return 'away'
  return { stdout, stderr, exit }
}

function describeCaller({ id, ppid, folder, env }: HookCaller): string {
  const sent: Record<string, string> = {}
  let left = MOST_HEADER_CHARS
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !SENT.test(name) || SECRET.test(name) || value.length > MOST_VALUE_CHARS) continue
    left -= encodeURIComponent(name + value).length + 20
    if (left < 0) break
    sent[name] = value
  }
  return encodeURIComponent(JSON.stringify({ id, ppid, folder, env: sent }))
}

const CHUNK = 65_536
/** How long a pipe that does not block is waited for, again and again. */
const AGAIN_MS = 2

/** Writes without `process.stdout`, whose streams take milliseconds to load. */
function writeAll(fd: 1 | 2, text: string): void {
  for (let left = Buffer.from(text); left.length > 0; ) left = left.subarray(again(() => writeSync(fd, left)))
}

/** Reads the whole of standard input in bounded memory; undefined if it is larger than what is judged. */
function readStdin(): Buffer | undefined {
  const chunks: Buffer[] = []
  let size = 0
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK)
    const read = again(() => readSync(0, chunk))
    if (read === 0) return size > MAX_BYTES ? undefined : Buffer.concat(chunks)
    size += read
    if (size > MAX_BYTES) chunks.length = 0
    else chunks.push(chunk.subarray(0, read))
  }
}

/** Reads or writes, also where the pipe is not ready yet. Zero at the end of the file. */
function again(use: () => number): number {
  for (;;) {
    try {
      return use()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EOF') return 0
      if (code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS)
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
