import type { AgentToolName } from '../../../src/domain/agent-tools.ts'

/** What the model does, in words that every vendor's adapter can turn into its own wire. */
export interface Script {
  /** Part of the first prompt. A subagent's conversation is one of its own, found by the prompt it was given. */
  prompt: string
  steps: Step[]
  /** Steps of later prompts of the same conversation. */
  later?: { prompt: string; steps: Step[] }[]
}

export interface Step {
  say?: string
  think?: string
  calls?: Call[]
  /** What goes wrong instead. It lasts until the model is restarted without it. */
  fault?: Fault
  /** Milliseconds before the answer. */
  delayMs?: number
}

export type Call =
  | { run: string }
  | { write: string; content: string }
  | { plan: { text: string; state: 'pending' | 'active' | 'done' }[] }
  | { ask: { question: string; options: string[]; several?: boolean } }
  | { delegate: string; to?: string }
  /** A tool of ours. */
  | { own: AgentToolName; input: Record<string, unknown> }

export type Fault =
  | { kind: 'limit'; resets: string }
  /** Refused for now, and nobody says until when: for an hour, or for so many seconds, as the wire has it. */
  | { kind: 'rate'; seconds?: number }
  | { kind: 'overloaded' | 'server' | 'auth' | 'reset' | 'prompt_too_long' | 'model_not_found' | 'billing' }

/** A model on loopback that plays scripts. */
export interface Model extends AsyncDisposable {
  readonly url: string
  /** Everything that tools gave back to it, over all requests of its present life. */
  told(): string
  /** How often it was asked in its present life. */
  requests(): number
  /** Resolves with the first request, past or to come, that holds this text. */
  hears(text: string): Promise<void>
  /** Ends it and starts another on the same port: whatever it remembered is gone. */
  restart(scripts?: Script[]): Promise<void>
}
