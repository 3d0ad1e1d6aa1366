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
import type { OpenCommandSandbox } from '../command/plan-sandbox.ts'
import type { JudgeDiff } from './diff/judge-apart.ts'
import type { GateSettings } from './gate-settings.ts'

/** The work that is reported as done, and what it is checked against. */
export interface VerifyRequest {
  /** Undefined if the task works in the project itself. */
  worktree: Worktree | undefined
  /** Without a worktree: the tree that the project held when the work began, if it is known. */
  began?: string | undefined
  /** Where the dependencies of a worktree come from; changes in them are undone before gates run. */
  dependencies?: { project: string; setup: string | undefined; setupMs: number } | undefined
  /** The directory in which the agent worked, and commands run. */
  directory: string
  task: Pick<Task, 'id' | 'title' | 'description' | 'acceptance' | 'attempt'>
  /** The agent's own to-do list, as it left it. */
  plan: PlanItem[]
  openChildren: number
  /** The number of this verification within the attempt, from 1. */
  round: number
  gates: GateSettings
  /** The project has checks that no person has agreed to: an opinion does not take their place unless the settings demand one. */
  withheld?: boolean | undefined
  signal: AbortSignal
}

/** A second agent that reads and judges the work; the supervisor provides it, and it never throws. */
export type Judge = (material: VerifierMaterial, signal: AbortSignal) => Promise<VerifierOpinion>

export interface VerifyDeps extends GateDeps {
  store: Pick<Store, 'transaction' | 'evidence' | 'gateResults' | 'sessions'>
  log: Log
}

/** What the gates themselves need, which record nothing. */
export interface GateDeps {
  store: Pick<Store, 'gateResults'>
  clock: Clock
  paths: Pick<AppPaths, 'run'>
  /** The daemon's environment, of which commands see a selection. */
  env: Record<string, string | undefined>
  /** Passed by callers that verify often: finding out what the machine allows takes some milliseconds. */
  guard?: ProcessGuard | undefined
  isolation?: Isolation | undefined
  /** The sandbox around the commands. */
  sandbox?: OpenCommandSandbox | undefined
  /** Passed for the same reason. */
  judgeDiff?: JudgeDiff | undefined
  judge?: Judge | undefined
  /** Another agent for a second opinion, where the settings name one. */
  secondOpinion?: Judge | undefined
}

/** The result of one gate, before it is assigned to a task, a round and a tree. */
export type GateCheck = Pick<
  Evidence,
  'gate' | 'kind' | 'status' | 'command' | 'exit' | 'duration_ms' | 'output' | 'findings' | 'tests' | 'cached'
>

/** The result of a gate, with defaults for one that ran no command. */
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

/** `held` (failed by default) where a finding blocks, `review` where a person has to accept one, else passed. */
export function statusByFindings(
  findings: GateCheck['findings'],
  held: GateCheck['status'] = 'failed',
): GateCheck['status'] {
  if (findings.some(({ weight }) => weight === 'block')) return held
  return findings.some(({ weight }) => weight === 'review') ? 'review' : 'passed'
}
