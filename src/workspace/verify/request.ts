import type { AppPaths } from '../../base/app-paths.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { ProcessGuard } from '../../base/process/guardian.ts'
import type { Isolation } from '../../base/process/isolation.ts'
import type { Evidence, VerifierMaterial, VerifierOpinion } from '../../domain/evidence.ts'
import type { PlanItem } from '../../domain/session.ts'
import type { Task } from '../../domain/task.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { JudgeDiff } from './diff/judge-apart.ts'
import type { GateSettings } from './gate-settings.ts'

/** The work that is called done, and what it is measured by. */
export interface VerifyRequest {
  /** Undefined where the task works in the project itself. */
  place: Worktree | undefined
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

export interface VerifyDeps {
  store: Pick<Store, 'transaction' | 'evidence' | 'gateResults'>
  clock: Clock
  log: Log
  paths: Pick<AppPaths, 'run'>
  /** Of which commands see a few. */
  env: Record<string, string | undefined>
  /** Kept by whoever verifies often: finding out what the machine allows takes some milliseconds. */
  guard?: ProcessGuard | undefined
  isolation?: Isolation | undefined
  /** Kept for the same reason. */
  judgeDiff?: JudgeDiff | undefined
  judge?: Judge | undefined
  /** Another agent, where the settings name one. */
  secondOpinion?: Judge | undefined
}

/** What one gate saw, before it belongs to a task, a round and a tree. */
export type GateCheck = Pick<
  Evidence,
  'gate' | 'kind' | 'status' | 'command' | 'exit' | 'duration_ms' | 'output' | 'findings' | 'tests' | 'cached'
>

/** A gate that ran no command. */
export function gateCheck(gate: Pick<GateCheck, 'gate' | 'kind' | 'status'> & Partial<GateCheck>): GateCheck {
  return {
    command: null,
    exit: null,
    duration_ms: 0,
    output: '',
    findings: [],
    tests: null,
    cached: false,
    ...gate,
  }
}

/** Failed where something stands in the way, else passed. */
export function statusByFindings(
  findings: GateCheck['findings'],
  held: GateCheck['status'] = 'failed',
): GateCheck['status'] {
  return findings.some(({ weight }) => weight === 'block') ? held : 'passed'
}
