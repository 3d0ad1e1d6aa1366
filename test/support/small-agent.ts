import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventQueue } from '../../src/agents/session-output.ts'
import { isUuid } from '../../src/base/ids.ts'
import {
  type Driver,
  type Failure,
  type OpenSession,
  Question,
  type Session,
  type SessionEvent,
} from '../../src/domain/session.ts'

interface Call {
  type: 'tool_use'
  id: string
  name: string
  input: Record<string, unknown>
}
interface Result {
  type: 'tool_result'
  tool_use_id: string
  content: string
  is_error: boolean
}
type Block = Call | Result | { type: 'text'; text: string }
interface Message {
  role: 'user' | 'assistant'
  content: Block[]
}
/** What a turn ended with; undefined while it goes on. */
type End = Omit<Extract<SessionEvent, { kind: 'turn_ended' }>, 'kind' | 'turns' | 'durationMs' | 'denials'>

/**
 * The smallest agent that keeps the contract of `domain/session.ts`: it asks the simulator over Claude's wire, has `Bash`, `Read`,
 * `Write` and `AskUserQuestion`, and lives in this process. It is for tests of what the supervisor makes of an agent's calls and
 * questions, where a process of the real Claude Code would cost a second and show nothing more.
 */
export function smallAgent(): Driver {
  const conversations = new Map<string, Message[]>()
  return {
    agent: 'claude',
    cold: true,
    isVendorId: isUuid,
    conversationState: async id => (conversations.has(id) ? 'intact' : 'missing'),
    async open(options) {
      const { resume } = options
      const vendorId = resume && !resume.fork ? resume.vendorId : randomUUID()
      const history = structuredClone(conversations.get(resume?.vendorId ?? '') ?? [])
      conversations.set(vendorId, history)
      return new SmallSession(options, vendorId, history)
    },
    warm: async () => {},
    cool: async () => {},
    close: async () => {},
  }
}

class SmallSession implements Session {
  readonly id: string
  readonly vendorId: string
  readonly alone = true
  readonly events = new EventQueue()
  readonly #options: OpenSession
  readonly #history: Message[]
  #cut = new AbortController()
  #isRunning = false
  #isPausing = false
  #isClosed = false
  #denials = 0
  #rounds = 0

  constructor(options: OpenSession, vendorId: string, history: Message[]) {
    this.id = options.id
    this.vendorId = vendorId
    this.#options = options
    this.#history = history
    const { prompt, cwd, resume } = options
    if (options.mayBegin?.() === false) return
    this.events.push({ kind: 'started', vendorId, model: 'small', cwd, tools: [], resumed: resume !== undefined })
    this.#begin(prompt)
  }

  async prompt(text: string): Promise<void> {
    if (this.#isClosed) throw new Error('closed')
    this.#begin(text)
  }

  async pause(): Promise<void> {
    this.#isPausing = this.#isRunning
  }

  async interrupt(): Promise<void> {
    if (!this.#isRunning) return
    this.#cut.abort()
    this.#end({ outcome: 'interrupted', text: '' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.interrupt()
    this.events.push({ kind: 'ended', reason: 'closed' })
  }

  #begin(prompt: string | undefined): void {
    this.#isRunning = true
    this.#isPausing = false
    this.#rounds = 0
    this.#cut = new AbortController()
    if (prompt !== undefined) this.#history.push({ role: 'user', content: [{ type: 'text', text: prompt }] })
    void this.#turn(this.#cut.signal).then(
      end => this.#end(end),
      (error: Error) => this.#end({ outcome: 'failed', text: '', failure: { kind: 'other', message: error.message } }),
    )
  }

  async #turn(cut: AbortSignal): Promise<End> {
    for (;;) {
      const open = this.#history.at(-1)
      const content = open?.role === 'assistant' ? open.content : await this.#ask(cut)
      if (!Array.isArray(content)) return { outcome: 'failed', text: '', failure: content }
      const calls = content.filter(block => block.type === 'tool_use')
      if (calls.length === 0) return { outcome: 'completed', text: textOf(content) }
      const results: Result[] = []
      for (const call of calls) {
        const result = await this.#run(call, cut)
        if (result === 'parked') return { outcome: 'parked', text: '', parked: { callId: call.id, tool: call.name } }
        const { content: output, is_error } = result
        this.#tell({ kind: 'tool_result', callId: call.id, ok: !is_error, output }, cut)
        results.push(result)
      }
      if (cut.aborted) return { outcome: 'interrupted', text: '' }
      this.#history.push({ role: 'user', content: results })
      if (this.#isPausing) return { outcome: 'paused', text: '' }
      if (this.#rounds === this.#options.maxTurns) return { outcome: 'capped', text: '' }
    }
  }

  /** One request to the model, and as many more while it is overloaded as the environment allows. */
  async #ask(cut: AbortSignal): Promise<Block[] | Failure> {
    const { env, cwd, model = 'small' } = this.#options
    const body = JSON.stringify({ model, system: `Primary working directory: ${cwd}`, messages: this.#history })
    const maxRetries = Number(env['CLAUDE_CODE_MAX_RETRIES'] ?? 1)
    for (let attempt = 1; ; attempt += 1) {
      const headers = { 'content-type': 'application/json', 'x-api-key': env['ANTHROPIC_API_KEY'] ?? '' }
      const init = { method: 'POST', headers, body, signal: cut }
      const reply = await fetch(`${env['ANTHROPIC_BASE_URL']}/v1/messages`, init)
      if (reply.ok) {
        const { content } = (await reply.json()) as { content: Block[] }
        this.#rounds += 1
        this.#history.push({ role: 'assistant', content })
        if (textOf(content) !== '') this.#tell({ kind: 'text', text: textOf(content) }, cut)
        return content
      }
      const message = await reply.text()
      const kind = reply.status === 529 ? 'overloaded' : 'other'
      const failure = { kind, message, status: reply.status } as const
      if (kind === 'other' || attempt > maxRetries) return failure
      this.#tell({ kind: 'retry', attempt, maxRetries, delayMs: 20, failure }, cut)
      await sleep(20, undefined, { signal: cut })
    }
  }

  async #run(call: Call, cut: AbortSignal): Promise<Result | 'parked'> {
    const { asks, cwd } = this.#options
    const callId = call.id
    const result = (content: string, is_error = false): Result => {
      return { type: 'tool_result', tool_use_id: callId, content, is_error }
    }
    this.#tell({ kind: 'tool_request', callId, tool: call.name, input: call.input }, cut)
    if (call.name === 'AskUserQuestion') {
      const question = Question.parse({ callId, questions: call.input['questions'] })
      this.#tell({ kind: 'question', ...question }, cut)
      const answer = await asks.question(question, cut)
      if ('park' in answer) return 'parked'
      return 'declined' in answer ? result(answer.declined, true) : result(JSON.stringify(answer.answers))
    }
    const verdict = await asks.permission({ callId, tool: call.name, input: call.input, cwd }, cut)
    if ('park' in verdict) return 'parked'
    if (verdict.verdict === 'allow') return perform(call, this.#options).then(result, error => result(`${error}`, true))
    this.#denials += 1
    return result(verdict.reason, true)
  }

  #tell(event: SessionEvent, cut: AbortSignal): void {
    if (!cut.aborted) this.events.push(event)
  }

  #end(end: End): void {
    if (!this.#isRunning) return
    this.#isRunning = false
    const counts = { turns: this.#rounds, durationMs: 1, denials: this.#denials }
    this.events.push({ kind: 'turn_ended', ...counts, ...end })
  }
}

async function perform({ name, input }: Call, { cwd, env }: OpenSession): Promise<string> {
  if (name === 'Read') return readFileSync(String(input['file_path']), 'utf8')
  if (name === 'Write') {
    writeFileSync(String(input['file_path']), String(input['content']))
    return 'written'
  }
  if (name !== 'Bash') throw new Error(`this agent has no tool ${name}`)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = execFile('bash', ['-c', String(input['command'])], { cwd, env }, (error, output) =>
    error ? reject(error) : resolve(output),
  )
  child.stdin?.end()
  return promise
}

function textOf(content: Block[]): string {
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}
