import type { DriverOptions } from '../../../src/agents/agent-process.ts'
import type { AgentManifest } from '../../../src/domain/agent-manifest.ts'
import type { Driver, FailureKind, OpenSession, SessionEvent } from '../../../src/domain/session.ts'
import type { Fault, Model, Script } from './script.ts'

/** What a driver needs for a check against the contract. */
export interface Adapter {
  /** The agent's manifest: its promises, and where it may fall short. */
  manifest: AgentManifest
  openDriver(options?: DriverOptions): Promise<Driver>
  openModel(scripts: Script[]): Promise<Model>
  /** The whole environment of an agent that talks to the model at `url`. */
  env(home: string, url: string, login: Login): Record<string, string>
  /** Causes that the agent does not distinguish, and how it reports them; `silent`: it retries without end. */
  kinds?: Partial<Record<Fault['kind'], FailureKind | 'silent'>>
  /** Causes that it reports as such in its first turn only: later it compacts its conversation and reports how that failed. */
  firstTurn?: Fault['kind'][]
  /** The names of the agent's own tools. */
  tools: { run: string; write: string; delegate: string }
  /** Options without which every session would fail here, for example a model. */
  open?: Partial<OpenSession>
}

/** A subscription has reported limits; a key has none; without either the agent must say so. */
export type Login = 'key' | 'subscription' | 'none'

export type EventOf<Kind extends SessionEvent['kind']> = Extract<SessionEvent, { kind: Kind }>
