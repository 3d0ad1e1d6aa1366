import type { AgentToolName } from '../../../src/domain/agent-tools.ts'

/** What the model does, in a form that every vendor's adapter can translate. */
export interface Script {
  /** Part of the first prompt. A subagent has a conversation of its own, found by its prompt. */
  prompt: string
  steps: Step[]
  /** Steps of later prompts of the same conversation. */
  later?: { prompt: string; steps: Step[] }[]
}

export interface Step {
  say?: string
  think?: string
  calls?: Call[]
  /** A failure instead of an answer. It lasts until the model is restarted without it. */
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
  /** Refused for now without a reset time: for an hour, or for some seconds, as the wire has it. */
  | { kind: 'rate'; seconds?: number }
  | { kind: 'overloaded' | 'server' | 'auth' | 'reset' | 'prompt_too_long' | 'model_not_found' | 'billing' }

/** A model on loopback that plays scripts. */
export interface Model extends AsyncDisposable {
  readonly url: string
  /** All tool results that it got since its last restart. */
  told(): string
  /** How many requests it got since its last restart. */
  requests(): number
  /** Resolves with the first request, past or future, that contains this text. */
  hears(text: string): Promise<void>
  /** Restarts it on the same port with an empty memory. */
  restart(scripts?: Script[]): Promise<void>
}
