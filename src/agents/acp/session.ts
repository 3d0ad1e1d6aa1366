import { type ClientApp, client } from '@agentclientprotocol/sdk'
import type { Guard } from '../../base/process/guardian.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Failure, OpenSession } from '../../domain/session.ts'
import { checkedAsks } from '../checked-asks.ts'
import { PipedSession } from '../wire/piped-session.ts'
import type { Seat } from '../wire/seat.ts'
import { Files } from './client/files.ts'
import { AcpGate } from './client/gate.ts'
import { refused } from './client/refusals.ts'
import { Terminals } from './client/terminals.ts'
import { Conversation } from './conversation.ts'
import { rpcFailure } from './messages/failure.ts'
import { openConversation } from './open-conversation.ts'
import { commandFor, type McpServer } from './start-files.ts'
import { AcpConnection } from './wire/connection.ts'
import { Update } from './wire/schemas.ts'

export interface AcpSeat extends Seat {
  manifest: AgentManifest
  guard: Guard
  /** What we do for the agent, outside of any sandbox. */
  serves: AgentManifest['start']['serves']
  program: string[] | undefined
}

/** One conversation with an agent over ACP. */
export class AcpSession extends PipedSession<AcpConnection> {
  protected readonly turns: Conversation['turns']
  readonly #seat: AcpSeat
  readonly #conversation: Conversation
  readonly #gate: AcpGate
  readonly #files: Files
  readonly #terminals: Terminals
  #connection: AcpConnection | undefined
  #mcpServers: McpServer[] = []

  constructor(open: OpenSession, seat: AcpSeat) {
    super(open, seat)
    this.#seat = seat
    const line = { ...this.line(), notify: this.#notify.bind(this) }
    this.#conversation = new Conversation(open, seat.manifest, line)
    this.turns = this.#conversation.turns
    const asks = checkedAsks(open.asks, seat.askDeadlineMs)
    const keeper = this.#conversation.keeper(asks, note => this.telling.note(note))
    this.#gate = new AcpGate(keeper, this.#conversation.calls, this.#conversation.own)
    this.#conversation.onTurnOver(() => this.#gate.forget())
    this.#files = new Files(open.cwd, this.#gate)
    const { cwd: root, env, isolation } = open
    this.#terminals = new Terminals({ root, env, isolation, guard: seat.guard, asking: this.#gate })
    this.#conversation.onTurnStopped(() => void this.#terminals.stop())
    this.left.defer(() => this.#terminals.close())
    this.begin()
  }

  /** The protocol has no word for it: a request that the agent sends right behind a tool may be out before it hears of the stop. */
  async withhold(): Promise<void> {
    const { heard } = this.#conversation
    if (heard && this.turns.running) return this.pause()
    if (heard) return this[Symbol.asyncDispose]()
    if (!this.ending.closing) this.turns.dropped()
    await this.kill()
  }

  protected async connect(): Promise<AcpConnection | undefined> {
    const { manifest, process, program } = this.#seat
    if (this.open.resume && manifest.resume === 'none') {
      this.ending.fail({ kind: 'resume_unknown', message: `${manifest.name} cannot go on with a conversation.` })
      return undefined
    }
    const { own } = this.#conversation
    const { dispose, mcpServers, ...command } = await commandFor(manifest, { open: this.open, program, own })
    this.left.defer(dispose)
    this.#mcpServers = mcpServers
    const child = process.spawn({ ...command, cwd: this.open.cwd, signal: this.ending.gone })
    this.#connection = new AcpConnection(this.#app(), child, {
      ...this.listening(),
      updated: params => this.#updated(params),
    })
    return this.#connection
  }

  protected async introduce(connection: AcpConnection, signal: AbortSignal): Promise<void> {
    const { manifest, serves } = this.#seat
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

  /** An agent may ask for what it was told that there is not; what we do for it is done outside of its sandbox. */
  #served<What extends 'files' | 'terminals'>(what: What): { files: Files; terminals: Terminals }[What] {
    if (!this.#seat.serves[what]) throw refused(`Not allowed: there are no ${what} of the client here, use your own.`)
    return { files: this.#files, terminals: this.#terminals }[what]
  }

  #updated(params: unknown): void {
    const update = Update.safeParse(params).data
    if (update && !this.ending.closing) this.#conversation.updated(update.update)
  }
}

/** Parsed by whoever takes it, so that what is malformed is refused and not an error of the protocol's. */
function raw(params: unknown): unknown {
  return params
}
