import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Places } from '../../base/places.ts'
import type { Guard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import type { PlanItem } from '../../domain/session.ts'
import type { Task } from '../../domain/task.ts'
import type { VerifierMaterial, VerifierOpinion } from '../../domain/workspace/landing/opinion.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { Store } from '../../store/store.ts'
import type { JudgeDiff } from './diff/worker/judge-apart.ts'
import type { GateSettings } from './gate-settings.ts'

/** The work that is called done, and what it is measured by. */
export interface VerifyRequest {
  /** Undefined where the task works in the project itself. */
  place: Place | undefined
  /** Without a place: the tree that the project held when the work began, as far as anybody knows. */
  began?: string | undefined
  /** Where the dependencies of a place come from; what was changed in them is put right before gates run. */
  dependencies?: { project: string; setup: string | undefined; setupMs: number } | undefined
  /** Where the agent worked, and commands run. */
  directory: string
  task: Pick<Task, 'id' | 'title' | 'description' | 'acceptance' | 'attempt'>
  /** The agent's own list, as it left it. */
  plan: PlanItem[]
  openChildren: number
  /** Which verification of the attempt this is, from 1 on. */
  round: number
  gates: GateSettings
  signal: AbortSignal
}

/** A second agent that reads and judges; it is given by the supervisor, and never throws. */
export type Judge = (material: VerifierMaterial, signal: AbortSignal) => Promise<VerifierOpinion>

export interface VerifyParts {
  store: Pick<Store, 'transaction' | 'evidence' | 'gateResults'>
  clock: Clock
  log: Log
  places: Pick<Places, 'run'>
  /** Of which commands see a few. */
  env: Record<string, string | undefined>
  /** Kept by whoever verifies often: finding out what the machine allows takes some milliseconds. */
  guard?: Guard | undefined
  isolation?: Isolation | undefined
  /** Kept for the same reason. */
  judgeDiff?: JudgeDiff | undefined
  judge?: Judge | undefined
  /** Another agent, where the settings name one. */
  secondOpinion?: Judge | undefined
}
