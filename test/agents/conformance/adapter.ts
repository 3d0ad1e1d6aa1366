import type { DriverOptions } from '../../../src/agents/agent-process.ts'
import type { AgentManifest } from '../../../src/domain/agent-manifest.ts'
import type { Driver, FailureKind, OpenSession, SessionEvent } from '../../../src/domain/session.ts'
import type { Fault, Model, Script } from './script.ts'

/** What a driver brings to be held against the contract. */
export interface Adapter {
  /** What the agent is held to, and where it may fall short. */
  manifest: AgentManifest
  openDriver(options?: DriverOptions): Promise<Driver>
  openModel(scripts: Script[]): Promise<Model>
  /** The whole environment of an agent that talks to the model at `url`. */
  env(home: string, url: string, login: Login): Record<string, string>
  /** The names of the agent's own tools. */
  /** Causes that the agent does not tell apart, and as what they are told; `silent`: it tries again without end. */
  kinds?: Partial<Record<Fault['kind'], FailureKind | 'silent'>>
  /** Causes that it tells as such in its first turn only: later on it shortens its conversation, and tells how that failed. */
  firstTurn?: Fault['kind'][]
  tools: { run: string; write: string; delegate: string }
  /** Options without which every session would fail here: a model that needs no choosing. */
  open?: Partial<OpenSession>
}

/** A subscription has limits that are told; a key has none; without either the agent must say so. */
export type Login = 'key' | 'subscription' | 'none'

export type EventOf<Kind extends SessionEvent['kind']> = Extract<SessionEvent, { kind: Kind }>
