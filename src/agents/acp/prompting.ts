import { ZodError } from 'zod'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Failure, OpenSession } from '../../domain/session.ts'
import type { LimitEvent } from '../limits/recorded-limit.ts'
import type { Line } from '../turns/manner.ts'
import type { Turn, TurnEnded } from '../turns/turn.ts'
import type { Turns } from '../turns/turns.ts'
import { rpcFailure } from './messages/failure.ts'
import { limitOf } from './messages/limits.ts'
import type { Translator } from './messages/translator.ts'
import { RpcError, Stopped } from './wire/schemas.ts'

/** A model that is refused again and again without end is not told why without end. */
const MAX_FOLLOW_UPS = 20

interface Parts {
  open: OpenSession
  manifest: AgentManifest
  line: Line
  translator: Translator
}

/** Sends the prompt of a turn and reads the answer, with what some agents need to be told beside it. */
export class Prompting {
  readonly #parts: Parts
  /** What was said in turns that broke, where the agent forgets them. */
  readonly #forgotten: string[] = []
  #limit: LimitEvent | undefined
  #isHeard = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The model has said or wanted something in this turn. */
  heard(): void {
    this.#isHeard = true
  }

  limited(event: LimitEvent): void {
    this.#limit = event
  }

  begin(turn: Turn, turns: Turns): void {
    this.#limit = undefined
    this.#isHeard = false
    void this.#prompt(turn, turns)
  }

  ended({ prompt }: Turn, { outcome }: TurnEnded): void {
    if (outcome === 'completed') this.#forgotten.length = 0
    else if (this.#parts.manifest.forgetsBrokenTurns) this.#forgotten.push(prompt)
  }

  async #prompt(turn: Turn, turns: Turns): Promise<void> {
    const { line, translator } = this.#parts
    let next: string | undefined = this.#reminded(turn.prompt)
    try {
      for (let rest = MAX_FOLLOW_UPS; next !== undefined; rest--) {
        const prompt = [{ type: 'text', text: next }]
        const stopped = Stopped.parse(await line.request('session/prompt', { sessionId: turns.vendorId, prompt }))
        line.tell([...translator.flush(), ...translator.spending.turn(stopped)])
        next = rest > 0 ? this.#followUp(turn) : undefined
        if (next === undefined) turns.over(turn, this.#isWithheld(stopped) ? { failure: WITHHELD } : { stopped })
      }
    } catch (error) {
      // Only what the agent answers is the turn's own: one that is gone ends the session, and with it the turn.
      if (RpcError.safeParse(error).success || error instanceof ZodError)
        turns.over(turn, { failure: this.#failure(error) })
    }
  }

  #reminded(text: string): string {
    if (this.#forgotten.length === 0) return text
    const before = this.#forgotten.join('\n\n')
    return `You were asked this before, and stopped in the middle of it; look at what is done already:\n\n${before}\n\n${text}`
  }

  /** An agent that gives up with a refused call is told why, and goes on in the same turn. */
  #followUp(turn: Turn): string | undefined {
    if (!this.#parts.manifest.refusalEndsTurn || turn.cancelled || turn.untold.length === 0) return undefined
    const reasons = turn.untold.splice(0).join('\n')
    this.#parts.translator.words.takeLast()
    return `${reasons}\nGo on another way, or leave it and say so.`
  }

  /** Nothing was said and nothing was wanted, and yet it is complete. */
  #isWithheld({ stopReason }: Stopped): boolean {
    return this.#parts.manifest.silentRefusals === true && stopReason === 'end_turn' && !this.#isHeard
  }

  #failure(error: unknown): Failure {
    const { line, open, translator } = this.#parts
    const failure = rpcFailure(error)
    // Some agents say the error as if the model had: it is told once, as what it is.
    const said = translator.words.drop().trim()
    if (said && !isErrorText(said, failure)) line.tell([{ kind: 'text', text: said }])
    if (failure.kind !== 'limit') return failure
    const { TZ: tz } = open.env
    return { ...failure, limit: limitOf(failure.message, { event: this.#limit, now: Date.now(), tz }) }
  }
}

const WITHHELD: Failure = {
  kind: 'refusal',
  message: 'The vendor withheld the answer: the agent ended its turn without a word.',
}

function isErrorText(said: string, failure: Failure): boolean {
  return failure.message.includes(said) || said.includes(failure.message) || /^(API Error|You've hit your)/.test(said)
}
