import type { Failure, SessionEvent } from '../../domain/session.ts'

export type TurnEnded = Extract<SessionEvent, { kind: 'turn_ended' }>

/** What the agent says of the end. */
export type TurnEnd = { stopped: { stopReason: string } } | { failure: Failure }

/** One turn from its prompt to its end: what was done to it decides how its end is read. */
export class Turn {
  readonly prompt: string
  readonly stop = new AbortController()
  readonly #started = Date.now()
  denials = 0
  /** Why calls were refused that nobody could tell the model about yet. */
  readonly untold: string[] = []
  pausing = false
  interrupting = false
  capped = false
  parked: { callId: string; tool: string } | undefined
  /** We asked the agent to end it. */
  cancelled = false

  constructor(prompt: string) {
    this.prompt = prompt
  }

  /** How it ended, by what the agent says and what we did. Only `completed` is a claim of success. */
  ended(end: TurnEnd, { text, rounds }: { text: string; rounds: number }): TurnEnded {
    const told = {
      kind: 'turn_ended' as const,
      text,
      turns: rounds,
      durationMs: Date.now() - this.#started,
      denials: this.denials,
    }
    if (this.parked) return { ...told, outcome: 'parked', parked: { ...this.parked, gone: true } }
    if (this.interrupting) return { ...told, outcome: 'interrupted' }
    if (this.capped) return { ...told, outcome: 'capped' }
    if (this.pausing && this.cancelled) return { ...told, outcome: 'paused' }
    if ('failure' in end) return { ...told, outcome: 'failed', failure: end.failure }
    return { ...told, ...byReason(end.stopped.stopReason) }
  }
}

function byReason(reason: string): Pick<TurnEnded, 'outcome' | 'failure'> {
  switch (reason) {
    case 'end_turn':
      return { outcome: 'completed' }
    case 'max_turn_requests':
      return { outcome: 'capped' }
    case 'refusal':
      return { outcome: 'failed', failure: { kind: 'refusal', message: 'The model refused to go on.' } }
    case 'max_tokens':
      return {
        outcome: 'failed',
        failure: { kind: 'other', message: "The model's answer was cut by its token limit." },
      }
    case 'cancelled':
      return { outcome: 'failed', failure: { kind: 'other', message: 'The agent ended the turn by itself.' } }
    default:
      return {
        outcome: 'failed',
        failure: { kind: 'other', message: `The turn ended for an unknown reason (${reason}).` },
      }
  }
}
