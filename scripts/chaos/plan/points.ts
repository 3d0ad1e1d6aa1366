import { CRASH_POINTS, type CrashPointName, WORKSPACE_CRASH_POINTS } from '../../../src/base/crash-point.ts'

/** All named steps. */
export const ALL_POINTS: readonly CrashPointName[] = [...CRASH_POINTS, ...WORKSPACE_CRASH_POINTS]

/** The step for a seed; consecutive seeds go through all steps. */
export function pointOf(seed: number): CrashPointName {
  return ALL_POINTS[seed % ALL_POINTS.length] ?? 'settle.before-commit'
}

/** Whether only a run in worktrees reaches this step. */
export function isOfWorkspace(name: CrashPointName): boolean {
  return (WORKSPACE_CRASH_POINTS as readonly string[]).includes(name)
}

/** Whether only a daemon that takes over from a dead one passes this step, during its start. */
export function isOfRecovery(name: CrashPointName): boolean {
  return name.startsWith('recover.')
}
