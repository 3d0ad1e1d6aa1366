import { type ClientApp, client } from '@agentclientprotocol/sdk'
import { secretId } from '../../base/ids.ts'
import { openGuard, type ProcessGuard } from '../../base/process/guardian.ts'
import type { Sandbox } from '../../base/sandbox/sandbox.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { Driver, Failure, OpenSession } from '../../domain/session.ts'
import { AgentProcess, type DriverOptions } from '../agent-process.ts'
import { openAgentSandbox } from '../agent-sandbox.ts'
import { ASK_DEADLINE_MS, checkedAsks } from '../checked-asks.ts'
import { type PipedProcess, PipedSession } from '../piped-session.ts'
import { AcpConversation } from './conversation.ts'
import { rpcFailure } from './failures.ts'
import { AcpFiles } from './files.ts'
import { AcpGate, refusedError } from './gate.ts'
import { openConversation } from './open-conversation.ts'
import { type McpServer, prepareCommand } from './start-command.ts'
import { AcpTerminals } from './terminals.ts'
import { AcpConnection, Update } from './wire.ts'

/** Some agents load for seconds, on a busy machine for many; an agent that is silent for this long never will. */
const START_MS = 90_000

/** An agent that was told to stop and does not is ended after this time. */
const STOP_MS = 15_000

export interface AcpDriverOptions extends DriverOptions {
  /** The program and the arguments before the manifest's own; the manifest's command when absent. */
  command?: string[] | undefined
  /** How long an agent may take to introduce itself and to open a session. */
  startMs?: number | undefined
  /** How long the agent may take to stop. */
  stopMs?: number | undefined
}

/** Drives an agent that speaks the Agent Client Protocol, as its manifest describes it. */
export function acpDriver(manifest: AgentManifest, options: AcpDriverOptions = {}): Driver {
  const { executable, command, log = () => undefined } = options
  const { askDeadlineMs = ASK_DEADLINE_MS, startMs = START_MS, stopMs = STOP_MS } = options
  const guard = openGuard()
  return {
    agent: manifest.kind,
    cold: true,
    ...(manifest.resume === 'none' && { conversationState: async () => 'missing' as const }),
    async open(open) {
      const sandbox = openAgentSandbox(manifest.sandbox, open, line => log(`session ${open.id}: ${line}`))
      const isolation = sandbox ? `${guard.level(open.isolation)}, sandbox` : guard.level(open.isolation)
      log(`session ${open.id}: starts ${manifest.name} (${isolation})`)
      const process = new AgentProcess({
        manifest,
        guard,
        isolation: open.isolation,
        marker: open.marker ?? secretId(16),
        sandbox,
        log: line => log(`session ${open.id}: ${line}`),
      })
      const program = command ?? (executable === undefined ? undefined : [executable])
      // Our services run outside of the sandbox: an agent in a sandbox reads, writes and runs commands by itself.
      const serves = sandbox ? { files: false, terminals: false } : manifest.start.serves
      const deps = { manifest, process, sandbox, guard, serves, program, askDeadlineMs, startMs, stopMs, log }
      return new AcpSession(open, deps)
    },
    // A warm process would have to be set up all over again: nothing is started ahead of time.
    warm: async () => undefined,
    cool: async () => undefined,
    close: async () => undefined,
  }
}

export interface AcpProcess extends PipedProcess {
  manifest: AgentManifest
  sandbox: Sandbox | undefined
  guard: ProcessGuard
  /** The services that we do for the agent, outside of any sandbox. */
  serves: AgentManifest['start']['serves']
  program: string[] | undefined
}

/** One conversation with an agent over ACP. */
class AcpSession extends PipedSession<AcpConnection> {
  protected readonly turns: AcpConversation['turns']
  readonly #deps: AcpProcess
  readonly #conversation: AcpConversation
  readonly #gate: AcpGate
  readonly #files: AcpFiles
  readonly #terminals: AcpTerminals
  #connection: AcpConnection | undefined
  #mcpServers: McpServer[] = []

  constructor(open: OpenSession, deps: AcpProcess) {
    super(open, deps)
    this.#deps = deps
    const link = { ...this.link(), notify: this.#notify.bind(this) }
    this.#conversation = new AcpConversation(open, deps.manifest, link)
    this.turns = this.#conversation.turns
    const asks = checkedAsks(open.asks, deps.askDeadlineMs)
    const callbacks = this.#conversation.gateCallbacks(asks, note => this.output.note(note))
    this.#gate = new AcpGate(callbacks, this.#conversation.calls, this.#conversation.own)
    this.#conversation.onTurnOver(() => this.#gate.forget())
    this.#files = new AcpFiles(open.cwd, this.#gate)
    const { cwd: root, env, isolation } = open
    this.#terminals = new AcpTerminals({ root, env, isolation, guard: deps.guard, approver: this.#gate })
    this.#conversation.onTurnStopped(() => void this.#terminals.stop())
    this.cleanup.defer(() => this.#terminals.close())
    this.begin()
  }

  /** The protocol has no message for this: a request that the agent sends right after a tool may be out before it sees the stop. */
  async withhold(): Promise<void> {
    const { hasAnswered } = this.#conversation
    if (hasAnswered && this.turns.running) return this.pause()
    if (hasAnswered) return this[Symbol.asyncDispose]()
    if (!this.ending.closing) this.turns.drop()
    await this.kill()
  }

  protected async connect(): Promise<AcpConnection | undefined> {
    const { manifest, process, program, sandbox } = this.#deps
    if (this.open.resume && manifest.resume === 'none') {
      this.ending.fail({ kind: 'resume_unknown', message: `${manifest.name} cannot go on with a conversation.` })
      return undefined
    }
    const { own } = this.#conversation
    const { dispose, mcpServers, ...command } = await prepareCommand(manifest, {
      ...{ open: this.open, program, own, marker: process.marker.value, sandbox },
    })
    this.cleanup.defer(dispose)
    this.#mcpServers = mcpServers
    this.#conversation.started(command.env, sandbox)
    const child = process.spawn({ ...command, cwd: this.open.cwd, signal: this.ending.gone })
    this.#connection = new AcpConnection(this.#app(), child, {
      ...this.listeners(),
      updated: params => this.#updated(params),
    })
    return this.#connection
  }

  protected async introduce(connection: AcpConnection, signal: AbortSignal): Promise<void> {
    const { manifest, serves } = this.#deps
    const opening = { manifest, serves, mcpServers: this.#mcpServers, open: this.open, signal }
    this.#conversation.opened(await openConversation(connection, opening))
  }

  protected refusal(error: unknown): Failure {
    const failure = rpcFailure(error)
    return this.open.resume && failure.kind !== 'auth' ? { ...failure, kind: 'resume_unknown' } : failure
  }

  #notify(method: string, params: unknown): void {
    this.#connection?.notify(method, params)
  }

  #app(): ClientApp {
    return client({ name: 'perpetualcc' })
      .onRequest('session/request_permission', raw, ({ params, signal }) => this.#gate.permission(params, signal))
      .onRequest('elicitation/create', raw, ({ params, signal }) => this.#gate.question(params, signal))
      .onRequest('fs/read_text_file', raw, ({ params, signal }) => this.#served('files').read(params, signal))
      .onRequest('fs/write_text_file', raw, ({ params, signal }) => this.#served('files').write(params, signal))
      .onRequest('terminal/create', raw, ({ params, signal }) => this.#served('terminals').create(params, signal))
      .onRequest('terminal/output', raw, ({ params }) => this.#served('terminals').output(params))
      .onRequest('terminal/wait_for_exit', raw, ({ params, signal }) =>
        this.#served('terminals').waitForExit(params, signal),
      )
      .onRequest('terminal/kill', raw, ({ params }) => this.#served('terminals').kill(params))
      .onRequest('terminal/release', raw, ({ params }) => this.#served('terminals').release(params))
  }

  /** Refuses a service that was not offered, because an agent may ask for it anyway and it would run outside of its sandbox. */
  #served<What extends 'files' | 'terminals'>(what: What): { files: AcpFiles; terminals: AcpTerminals }[What] {
    if (!this.#deps.serves[what])
      throw refusedError(`Not allowed: there are no ${what} of the client here, use your own.`)
    return { files: this.#files, terminals: this.#terminals }[what]
  }

  #updated(params: unknown): void {
    const update = Update.safeParse(params).data
    if (update && !this.ending.closing) this.#conversation.updated(update.update)
  }
}

/** Leaves parsing to the handler, so that malformed parameters are refused and are no error of the protocol. */
function raw(params: unknown): unknown {
  return params
}
