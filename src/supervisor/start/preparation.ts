import type { Consent } from '../../agents/limits/consent.ts'
import type { WantedDriver } from '../../agents/open.ts'
import type { Places } from '../../base/places.ts'
import type { AgentChoice } from '../../domain/agents/choice.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Brain } from '../../domain/brain/brain.ts'
import type { Budgets } from '../../domain/budget/budget.ts'
import type { Config } from '../../domain/config/config.ts'
import type { FeaturePlace } from '../../domain/features/feature.ts'
import type { RunPlace } from '../../domain/runs/run.ts'
import type { Driver, OpenSession, Request, Verdict } from '../../domain/session.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { SessionPolicy } from '../asks/session-policy.ts'
import type { FailoverSettings } from '../failover/settings.ts'
import type { Mind, Policy, Run } from '../run.ts'
import type { GuardSettings } from '../settings/guard-settings.ts'

export interface PrepareParts {
  places: Places
  /** The daemon's own environment: its PCC_* settings count where a caller says none. */
  env: Record<string, string | undefined>
  policy: Policy
  /** The language models of the settings, shared by all sessions that have the same. */
  brainsFor(config: Config, env: Record<string, string | undefined>): Promise<Brain[]>
  driverFor(wanted: WantedDriver): Promise<Driver>
}

/** What a session needs to run, computed from the request, the settings in force for its project and what is trusted. */
export interface Preparation {
  /** The agent that was chosen, and what is known of its kind. */
  agent: AgentChoice
  manifest: AgentManifest
  driver: Driver
  open: Omit<OpenSession, 'asks' | 'id' | 'prompt' | 'resume' | 'marker'>
  policy: SessionPolicy
  account: string
  /** What earlier versions called it. */
  formerAccounts: string[]
  /** Refuses calls that would bring files of the project to life which nobody has agreed to. */
  guard(request: Request): Promise<Verdict | undefined>
  /** Whether its agent may work with nobody watching. */
  heldEnough: boolean
  /** The same, from how things are then. */
  again(): Promise<Preparation>
  /** How many sessions may run at once. */
  maxConcurrent: number
  mind: Mind
  /** Whether, and in which hours, a session goes on by itself after a limit. */
  consent: Consent
  quota: Run['quota']
  budgets: Budgets
  budgetsNow(): Promise<Budgets>
  guards: GuardSettings
  /** Which agents take over from one another, and when. */
  failover: FailoverSettings
  /** Variables of those agents: kept with its environment, and never the agent's. */
  othersEnv: Record<string, string>
  /** How many sessions may wait for their turn. */
  maxWaiting: number
  checkpointEveryMs: number
  retryMs: Run['retryMs']
  /** Keys of its brains that settings only name: kept with its environment, and never the agent's. */
  brainKeys: Record<string, string>
  /** Whether what its agent is started with may be kept in a file until it is over. */
  keepEnvironment: boolean
  /** What the person should know: settings of the project that are left out until it is trusted. */
  notes: string[]
  /** Values that must never reach a log or an event. */
  secrets: string[]
  /** What the row keeps of where its settings came from, so that a parked session goes on under the same. */
  settings: Pick<StartSession, 'config' | 'settings'>
}

/** What a session is started or goes on with. */
export type PrepareRequest = StartSession & {
  run?: RunPlace | undefined
  feature?: FeaturePlace | undefined
  place?: Place | undefined
  /** The agent of a session that goes on, or that somebody has chosen for it: settings are not asked. */
  chosen?: AgentChoice | undefined
}
