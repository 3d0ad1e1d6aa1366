import type { Failure, SessionEvent } from '../../domain/session.ts'
import type { Turn, TurnEnded } from './turn.ts'
import type { Words } from './words.ts'

/** What reads the agent's messages. */
export interface Reading {
  readonly words: Words
  /** Rounds with the model in this turn. */
  readonly rounds: number
  readonly calls: { readonly running: number }
  begin(): void
  flush(): SessionEvent[]
}

/** What the conversation asks of its session. */
export interface Line {
  tell(events: SessionEvent[]): void
  request(method: string, params: unknown): Promise<unknown>
  /** The session ends by itself. */
  leave(): void
  cutOff(failure: Failure): void
  stopMs: number
}

/** How one kind of agent is spoken to. */
export interface Manner {
  /** What people call it. */
  name: string
  /** A turn was made: its prompt is sent. */
  begin(turn: Turn): void
  /** The agent is told to end the turn. */
  cancel(): void
  /** A word in the middle of a turn; false where the model does not hear it in this one. */
  steer(text: string): Promise<boolean>
  /** The end of a turn was told: what counted for that turn is forgotten. */
  over(turn: Turn, ended: TurnEnded): void
}
