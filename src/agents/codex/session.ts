import type { Failure, OpenSession } from '../../domain/session.ts'
import { checkedAsks } from '../checked-asks.ts'
import { PipedSession } from '../wire/piped-session.ts'
import type { Seat } from '../wire/seat.ts'
import { Conversation } from './conversation.ts'
import { CodexGate } from './gate.ts'
import { rpcFailure } from './messages/failure.ts'
import { prepareHome } from './start/home.ts'
import { openThread } from './start/open-thread.ts'
import { openTemp } from './start/own-temp.ts'
import { flagsFor } from './start/policy.ts'
import { CodexConnection } from './wire/connection.ts'

export interface CodexSeat extends Seat {
  program: string[]
  appendPrompt: string | undefined
}

/** One conversation with Codex. */
export class CodexSession extends PipedSession<CodexConnection> {
  protected readonly turns: Conversation['turns']
  readonly #seat: CodexSeat
  readonly #conversation: Conversation
  readonly #gate: CodexGate
  /** For temporary files. */
  #temp = ''

  constructor(open: OpenSession, seat: CodexSeat) {
    super(open, seat)
    this.#seat = seat
    this.#conversation = new Conversation(open, this.line())
    this.turns = this.#conversation.turns
    const asks = checkedAsks(open.asks, seat.askDeadlineMs)
    const keeper = this.#conversation.keeper(asks, note => this.telling.note(note))
    this.#gate = new CodexGate(keeper, this.#conversation.calls)
    this.begin()
  }

  /** Codex calls the model as soon as a tool has answered: only a stop at once is sure to come before that. */
  async withhold(): Promise<void> {
    if (this.turns.running && !this.#conversation.unheard) return this.pause({ atOnce: true })
    if (!this.turns.running) this.turns.owed(false)
    await this.kill()
  }

  protected async connect(): Promise<CodexConnection | undefined> {
    const { cwd, env: given, settingSources, prompt, resume } = this.open
    if (prompt === undefined && resume) {
      this.turns.owed(true)
      this.ending.fail(NOTHING_PARKED)
      return undefined
    }
    const temp = await openTemp(given)
    this.left.defer(temp.remove)
    this.#temp = temp.path
    const home = await prepareHome(given, { user: settingSources.includes('user') })
    const flags = flagsFor({ cwd, home: home.own, readsProject: settingSources.includes('project'), temp: temp.path })
    const [command = 'codex', ...before] = this.#seat.program
    const args = [...before, 'app-server', ...flags]
    const env = { ...given, ...temp.env, CODEX_HOME: home.given }
    const child = this.#seat.process.spawn({ command, args, env, cwd, signal: this.ending.gone })
    return new CodexConnection(child, {
      ...this.listening(),
      told: (method, params) => {
        if (!this.ending.closing || this.turns.running) this.#conversation.told(method, params)
      },
      asked: (method, params, signal) => this.#gate.answer(method, params, signal),
    })
  }

  protected async introduce(connection: CodexConnection, signal: AbortSignal): Promise<void> {
    const { appendPrompt } = this.#seat
    this.#conversation.opened(await openThread(connection, { open: this.open, temp: this.#temp, appendPrompt, signal }))
  }

  protected refusal(error: unknown): Failure {
    const failure = rpcFailure(error)
    const isRefused = failure.kind === 'other' && !(error instanceof Error)
    return this.open.resume && isRefused ? { ...failure, kind: 'resume_unknown' } : failure
  }

  protected override cutOff(failure: Failure): void {
    this.#seat.process.kill()
    super.cutOff(failure)
  }
}

/** A call that was parked is given up: what is said to it comes with a prompt. */
const NOTHING_PARKED: Failure = {
  kind: 'nothing_parked',
  message: 'There was no parked call to answer. Go on with a prompt.',
}
