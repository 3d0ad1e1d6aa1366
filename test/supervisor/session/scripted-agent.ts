import { EventQueue } from '../../../src/agents/session-output.ts'
import type { Driver, Failure, OpenSession, Session, SessionEvent } from '../../../src/domain/session.ts'

/** A moment of a turn at which a test can hold the agent. */
export type Point = 'opening' | 'starting' | 'request' | 'tool' | 'answer' | 'question' | 'last request' | 'turn over'

/**
 * What happens in a turn: nothing special, a failure in place of the last answer, a question before it, or news of the
 * allowance.
 */
export interface Turn {
  /** How full the five-hour window is, from 0 to 1. */
  used?: number
  failure?: Failure
  /** A failure in place of the first answer. */
  refused?: Failure
  asks?: boolean
  /** A command that the agent wants to run; it is the same call whenever it is requested. */
  wants?: string
  /** The id of the call; by default always the same. */
  wantsAs?: string
  /** The id of the subagent that requests it; by default the main agent does. */
  subagent?: string
  /** Events that come with the first answer. */
  tells?: SessionEvent[]
  /** The turn has begun and does not go on before this resolves. */
  until?: Promise<void> | undefined
  /** The report at the end of the turn. */
  says?: () => string
}

export interface ScriptedAgent {
  driver: Driver
  /** Every prompt that the model got, in order. */
  prompts: string[]
  /** How often the model was called. */
  calls(): number
  /** How many agents are open now. */
  open(): number
  /** From now on a process survives when the agent is closed. */
  withstand(): void
  /** From now on the agent has lost its record of every conversation. */
  lose(): void
  /** Holds the agent the next time it reaches that point; resolves then with a function that lets it go on. */
  holdAt(point: Point): Promise<() => void>
}

/**
 * An agent that keeps the contract of `domain/session.ts` and follows a script: a request, a tool, perhaps a question, a last
 * request. `turnFor` gives the turn for a prompt.
 */
export function scriptedAgent(
  turnFor: (prompt: string, call: number, cwd: string) => Turn = () => ({}),
): ScriptedAgent {
  const prompts: string[] = []
  const holds = new Map<Point, (goOn: () => void) => void>()
  let calls = 0
  let open = 0
  let lost = false
  let withstands = false
  const at = (point: Point): Promise<void> | void => {
    const reached = holds.get(point)
    if (!reached) return
    holds.delete(point)
    return new Promise<void>(resolve => reached(resolve))
  }
  const world = {
    at,
    turnFor: (prompt: string, cwd: string) => turnFor(prompt, calls, cwd),
    withstands: () => withstands,
    called: (prompt?: string) => {
      calls += 1
      if (prompt !== undefined) prompts.push(prompt)
    },
    closed: () => {
      open -= 1
    },
  }
  return {
    prompts,
    calls: () => calls,
    open: () => open,
    withstand: () => {
      withstands = true
    },
    lose: () => {
      lost = true
    },
    holdAt: point => new Promise(resolve => holds.set(point, resolve)),
    driver: {
      agent: 'scripted',
      conversationState: async () => (lost ? 'missing' : 'intact'),
      async open(options) {
        await at('opening')
        open += 1
        return new ScriptedSession(options, world)
      },
      warm: async () => {},
      cool: async () => {},
      close: async () => {},
    },
  }
}

const HOUR_MS = 3_600_000

interface ScriptWorld {
  at(point: Point): Promise<void> | void
  turnFor(prompt: string, cwd: string): Turn
  called(prompt?: string): void
  closed(): void
  withstands(): boolean
}

class ScriptedSession implements Session {
  readonly id: string
  readonly vendorId: string
  readonly events = new EventQueue()
  readonly #options: OpenSession
  readonly #world: ScriptWorld
  #cut = new AbortController()
  #running = false
  #pausing = false
  #started = false
  #closed = false

  constructor(options: OpenSession, world: ScriptWorld) {
    this.id = options.id
    this.vendorId = options.resume?.vendorId ?? `v-${options.id}`
    this.#options = options
    this.#world = world
    void this.prompt(options.prompt ?? '(the parked call)')
  }

  get hasSurvivors(): boolean {
    return this.#closed && this.#world.withstands()
  }

  async prompt(text: string): Promise<void> {
    if (this.#closed) throw new Error('closed')
    this.#running = true
    this.#pausing = false
    this.#cut = new AbortController()
    // As with real agents: a failed answer ends the turn, not the program.
    void this.#turn(text, this.#cut.signal).catch((error: Error) =>
      this.#end('failed', { failure: { kind: 'other', message: error.message } }),
    )
  }

  async pause(): Promise<void> {
    if (this.#running) this.#pausing = true
  }

  async interrupt(): Promise<void> {
    // As with the real agent: before it has introduced itself there is no turn to interrupt.
    if (!this.#running || !this.#started) return
    this.#cut.abort()
    this.#end('interrupted')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#cut.abort()
    if (this.#running && this.#started) this.#end('interrupted')
    this.events.push({ kind: 'ended', reason: 'closed' })
    this.#world.closed()
  }

  async #turn(text: string, cut: AbortSignal): Promise<void> {
    const { cwd, asks } = this.#options
    const tell = (event: SessionEvent) => cut.aborted || this.events.push(event)
    const {
      failure,
      refused,
      asks: wantsToAsk,
      used,
      wants,
      wantsAs = 'b-1',
      subagent,
      tells = [],
      until,
      says = () => `done: ${text}`,
    } = this.#world.turnFor(text, this.#options.cwd)
    // A process takes a while to start.
    await new Promise(resolve => setImmediate(resolve))
    await this.#world.at('starting')
    if (cut.aborted) return
    this.#started = true
    tell({ kind: 'started', vendorId: this.vendorId, model: 'm', cwd, tools: [], resumed: false })
    await this.#world.at('request')
    if (cut.aborted) return
    this.#world.called(text)
    if (refused) return this.#end('failed', { failure: refused })
    tell({ kind: 'text', text: 'I begin.' })
    for (const event of tells) tell(event)
    await until
    if (cut.aborted) return
    if (used !== undefined) {
      const window = { utilization: used, resetsAt: Date.now() + HOUR_MS }
      tell({ kind: 'limit', status: 'allowed', windows: { five_hour: window } })
    }
    const request = { callId: `c-${Math.random()}`, tool: 'Read', input: { file_path: `${cwd}/a` }, cwd }
    tell({ kind: 'tool_request', ...request })
    await asks.permission(request, cut)
    await this.#world.at('tool')
    tell({ kind: 'tool_result', callId: request.callId, ok: true, output: 'read' })
    if (cut.aborted) return
    if (this.#pausing) return this.#end('paused')
    if (wants !== undefined) {
      const call = { callId: wantsAs, tool: 'Bash', input: { command: wants }, cwd }
      const agentId = subagent === undefined ? {} : { agentId: subagent }
      tell({ kind: 'tool_request', ...call, ...agentId })
      const verdict = await asks.permission({ ...call, ...agentId }, cut)
      if (cut.aborted) return
      if ('park' in verdict) return this.#end('parked', { parked: { callId: wantsAs, tool: 'Bash' } })
      tell({ kind: 'tool_result', callId: wantsAs, ok: verdict.verdict === 'allow', output: verdict.reason })
    }
    if (wantsToAsk) {
      const questions = [{ question: 'Which?', header: '', multiSelect: false, options: [] }]
      const waiting = this.#world.at('question')
      const callId = `q-${text}`
      await this.#world.at('answer')
      // As with the real agent: a gate that fails blocks the call, and the agent goes on from that.
      const answer = await asks.question({ callId, questions }, cut).catch(() => undefined)
      await waiting
      if (cut.aborted) return
      if (!answer) tell({ kind: 'tool_result', callId, ok: false, output: 'the gate failed' })
      else if ('park' in answer) return this.#end('parked', { parked: { callId, tool: 'AskUserQuestion' } })
      if (this.#pausing) return this.#end('paused')
    }
    await this.#world.at('last request')
    if (cut.aborted) return
    this.#world.called()
    if (failure) return this.#end('failed', { failure })
    tell({ kind: 'text', text: 'Done.' })
    this.#end('completed', { text: says() })
    await this.#world.at('turn over')
  }

  #end(
    outcome: Extract<SessionEvent, { kind: 'turn_ended' }>['outcome'],
    more: Partial<Extract<SessionEvent, { kind: 'turn_ended' }>> = {},
  ): void {
    if (!this.#running) return
    this.#running = false
    this.events.push({ kind: 'turn_ended', outcome, text: '', turns: 1, durationMs: 1, denials: 0, ...more })
  }
}
