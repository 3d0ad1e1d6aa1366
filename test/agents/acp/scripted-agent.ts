import { appendFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

// A scripted agent, for behaviour that no real one shows on purpose: silence, garbage, floods, deaths. ACP_SCRIPT holds its steps
// for each method, as a JSON object of lists; every message it gets is appended to ACP_HEARD.

/** One scripted step. */
export type AgentStep =
  | { say: string }
  | { update: Record<string, unknown> }
  /** Sends us a request; the answer is written to the file. `{server}` is the server that it got, `{large}` five megabytes. */
  | { ask: string; params: Record<string, unknown>; background?: boolean }
  | { raw: string }
  | { stderr: string }
  | { flood: number; update: Record<string, unknown> }
  | { exit: number }
  | { answer: unknown }
  | { fail: { code: number; message: string; data?: unknown } }
  /** Never does the remaining steps. */
  | { hang: true }
  /** Waits until it is told to stop and has an answer to all that it asked in the background. */
  | { awaitCancel: true }

export interface AgentScript {
  initialize?: AgentStep[]
  new?: AgentStep[]
  prompt?: AgentStep[]
  /** The second prompt and those after it. */
  later?: AgentStep[]
  start?: AgentStep[]
  /** When it is told to change its mode. */
  mode?: AgentStep[]
}

const LARGE = 'x'.repeat(5_000_000)
const SESSION = 'scripted-1'
const script = JSON.parse(process.env['ACP_SCRIPT'] ?? '{}') as AgentScript
const heard = process.env['ACP_HEARD'] ?? '/dev/null'
const answers = new Map<number, (value: unknown) => void>()
const unanswered: Promise<unknown>[] = []
const cancelled = Promise.withResolvers<void>()
let server = ''
let prompts = 0
let asked = 0

if (import.meta.main) {
  await act(script.start ?? [], undefined)
  for await (const line of createInterface({ input: process.stdin })) void hear(JSON.parse(line))
}

async function hear(message: { id?: number; method?: string; params?: unknown; result?: unknown; error?: unknown }) {
  appendFileSync(heard, `${JSON.stringify(message)}\n`)
  if (message.method === undefined) {
    answers.get(Number(message.id))?.(message.result ?? { error: message.error })
    return
  }
  if (message.method === 'session/cancel') cancelled.resolve()
  if (message.id === undefined) return
  if (message.method === 'initialize')
    await act(
      script.initialize ?? [{ answer: { protocolVersion: 1, agentInfo: { name: 'scripted', version: '1' } } }],
      message.id,
    )
  else if (message.method === 'session/new') {
    server = serverOf(message.params)
    await act(script.new ?? [{ answer: { sessionId: SESSION } }], message.id)
  } else if (message.method === 'session/prompt') {
    prompts++
    await act((prompts > 1 ? script.later : script.prompt) ?? [{ answer: { stopReason: 'end_turn' } }], message.id)
  } else if (message.method === 'session/set_mode') await act(script.mode ?? [{ answer: {} }], message.id)
  else send({ id: message.id, result: {} })
}

async function act(steps: AgentStep[], id: number | undefined): Promise<void> {
  for (const step of steps) {
    if ('say' in step) update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: step.say } })
    else if ('flood' in step) await flood(step.flood, step.update)
    else if ('update' in step) update(step.update)
    else if ('ask' in step) {
      const reply = ask(
        step.ask,
        JSON.parse(JSON.stringify(step.params).replaceAll('{server}', server).replace('{large}', LARGE)),
      )
      if (step.background) unanswered.push(reply)
      else await reply
    } else if ('raw' in step) write(`${step.raw}\n`)
    else if ('stderr' in step) process.stderr.write(step.stderr)
    else if ('exit' in step) process.exit(step.exit)
    else if ('answer' in step) send({ id, result: step.answer })
    else if ('fail' in step) send({ id, error: step.fail })
    else if ('awaitCancel' in step) {
      await cancelled.promise
      await Promise.all(unanswered)
    } else await new Promise(() => undefined)
  }
}

function serverOf(params: unknown): string {
  return (params as { mcpServers?: { name: string }[] }).mcpServers?.[0]?.name ?? ''
}

function ask(method: string, params: Record<string, unknown>): Promise<unknown> {
  asked++
  const { promise, resolve } = Promise.withResolvers<unknown>()
  answers.set(asked, resolve)
  send({ id: asked, method, params: { sessionId: SESSION, ...params } })
  return promise
}

async function flood(count: number, one: Record<string, unknown>): Promise<void> {
  for (let at = 0; at < count; at++) {
    const text = JSON.stringify({
      jsonrpc: '2.0',
      method: 'session/update',
      params: { sessionId: SESSION, update: one },
    })
    const ready = process.stdout.write(`${text.replaceAll('{at}', String(at))}\n`)
    if (!ready) await new Promise<void>(resolve => process.stdout.once('drain', () => resolve()))
    if (at % 1000 === 999) appendFileSync(heard, `${JSON.stringify({ method: 'flooded', params: { at: at + 1 } })}\n`)
  }
  // The next message is written without this queue and must not overtake it.
  await new Promise<void>(resolve => process.stdout.write('', () => resolve()))
}

function update(one: Record<string, unknown>): void {
  send({ method: 'session/update', params: { sessionId: SESSION, update: one } })
}

function send(message: object): void {
  write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
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
