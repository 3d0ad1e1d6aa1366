import { appendFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

// A scripted `codex app-server`, for behaviour that the real one does not show on purpose: silence, garbage, floods, deaths, and calls
// that nobody was asked about. CODEX_SCRIPT holds its steps for each method; every message it gets is appended to CODEX_HEARD.

export const THREAD = '01900000-0000-7000-8000-000000000001'
export const TURN = 'turn-1'

/** One scripted step. */
export type CodexStep =
  /** Sends a notification about our thread and turn. */
  | { tell: string; params?: Record<string, unknown> }
  /** Reports an item as begun or done. */
  | { begun: Record<string, unknown> }
  | { done: Record<string, unknown> }
  | { say: string }
  /** Sends us a request; the answer is written to the file. */
  | { ask: string; params: Record<string, unknown>; background?: boolean }
  | { raw: string }
  | { stderr: string }
  | { flood: number; done: Record<string, unknown> }
  | { exit: number }
  | { answer: unknown }
  | { fail: { code: number; message: string } }
  /** The turn is over. */
  | { over: string; error?: Record<string, unknown> }
  | { awaitInterrupt: true }
  /** Never does the remaining steps. */
  | { hang: true }

export interface CodexScript {
  start?: CodexStep[]
  initialize?: CodexStep[]
  thread?: CodexStep[]
  turn?: CodexStep[]
}

/** The default answer about the thread; a script may change it. */
export const OPENED = {
  thread: { id: THREAD },
  model: 'scripted',
  approvalPolicy: 'untrusted',
  approvalsReviewer: 'user',
  sandbox: {
    ...{ type: 'workspaceWrite', writableRoots: [], networkAccess: false },
    ...{ excludeSlashTmp: true, excludeTmpdirEnvVar: true },
  },
}

const script = JSON.parse(process.env['CODEX_SCRIPT'] ?? '{}') as CodexScript
const heard = process.env['CODEX_HEARD'] ?? '/dev/null'
const answers = new Map<number, (value: unknown) => void>()
const interrupted = Promise.withResolvers<void>()
let asked = 0

if (import.meta.main) {
  await act(script.start ?? [], undefined)
  for await (const line of createInterface({ input: process.stdin })) void hear(JSON.parse(line))
}

async function hear(message: { id?: number; method?: string; result?: unknown; error?: unknown }) {
  appendFileSync(heard, `${JSON.stringify(message)}\n`)
  const { id, method } = message
  if (method === undefined) return answers.get(Number(id))?.(message.result ?? message.error)
  if (id === undefined) return
  if (method === 'initialize') return act(script.initialize ?? [{ answer: { userAgent: 'scripted/1.2.3 (x)' } }], id)
  if (/^thread\/(start|resume|fork)$/.test(method)) return act(script.thread ?? [{ answer: OPENED }], id)
  send({ id, result: method === 'turn/start' ? { turn: { id: TURN } } : {} })
  if (method === 'turn/interrupt') interrupted.resolve()
  if (method === 'turn/start') await act(script.turn ?? [{ over: 'completed' }], id)
}

async function act(steps: CodexStep[], id: number | undefined): Promise<void> {
  for (const step of steps) {
    if ('tell' in step) tell(step.tell, step.params ?? {})
    else if ('flood' in step) await flood(step.flood, step.done)
    else if ('begun' in step) tell('item/started', { item: step.begun })
    else if ('done' in step) tell('item/completed', { item: step.done })
    else if ('say' in step) tell('item/completed', { item: { type: 'agentMessage', id: step.say, text: step.say } })
    else if ('ask' in step) {
      const reply = ask(step.ask, step.params)
      if (!step.background) await reply
    } else if ('raw' in step) write(`${step.raw}\n`)
    else if ('stderr' in step) process.stderr.write(step.stderr)
    else if ('exit' in step) process.exit(step.exit)
    else if ('answer' in step) send({ id, result: step.answer })
    else if ('fail' in step) send({ id, error: step.fail })
    else if ('over' in step)
      tell('turn/completed', { turn: { id: TURN, status: step.over, error: step.error ?? null } })
    else if ('awaitInterrupt' in step) await interrupted.promise
    else await new Promise(() => undefined)
  }
}

function ask(method: string, params: Record<string, unknown>): Promise<unknown> {
  asked++
  const { promise, resolve } = Promise.withResolvers<unknown>()
  answers.set(asked, resolve)
  send({ id: asked, method, params: { threadId: THREAD, turnId: TURN, ...params } })
  return promise
}

async function flood(count: number, item: Record<string, unknown>): Promise<void> {
  for (let at = 0; at < count; at++) {
    const text = JSON.stringify({ method: 'item/completed', params: { threadId: THREAD, turnId: TURN, item } })
    const ready = process.stdout.write(`${text.replaceAll('{at}', String(at))}\n`)
    if (!ready) await new Promise<void>(resolve => process.stdout.once('drain', () => resolve()))
    if (at % 1000 === 999) appendFileSync(heard, `${JSON.stringify({ method: 'flooded', params: { at: at + 1 } })}\n`)
  }
  // The next message is written without this queue and must not overtake it.
  await new Promise<void>(resolve => process.stdout.write('', () => resolve()))
}

function tell(method: string, params: Record<string, unknown>): void {
  send({ method, params: { threadId: THREAD, turnId: TURN, ...params } })
}

function send(message: object): void {
  write(`${JSON.stringify(message)}\n`)
}

/** Written synchronously, before the process can end. */
function write(text: string): void {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}
