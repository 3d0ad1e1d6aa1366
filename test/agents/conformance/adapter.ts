import type { DriverOptions } from '../../../src/agents/driver-options.ts'
import type { Driver, SessionEvent } from '../../../src/domain/session.ts'
import type { Model, Script } from './script.ts'

/** What a driver brings to be held against the contract. */
export interface Adapter {
  openDriver(options?: DriverOptions): Promise<Driver>
  openModel(scripts: Script[]): Promise<Model>
  /** The whole environment of an agent that talks to the model at `url`. */
  env(home: string, url: string, login: Login): Record<string, string>
  /** The names of the agent's own tools. */
  tools: { run: string; write: string; delegate: string }
}

/** A subscription has limits that are told; a key has none; without either the agent must say so. */
export type Login = 'key' | 'subscription' | 'none'

export type EventOf<Kind extends SessionEvent['kind']> = Extract<SessionEvent, { kind: Kind }>
