import { CRASH_POINTS, type CrashPointName, WORKSPACE_CRASH_POINTS } from '../../../src/base/crash-point.ts'

/** Every step that has a name. */
export const ALL_POINTS: readonly CrashPointName[] = [...CRASH_POINTS, ...WORKSPACE_CRASH_POINTS]

/** The step whose turn it is: seeds that follow one another take all of them in turn. */
export function pointOf(seed: number): CrashPointName {
  return ALL_POINTS[seed % ALL_POINTS.length] ?? 'settle.before-commit'
}

/** Steps that only a run in worktrees comes to. */
export function isOfWorkspace(name: CrashPointName): boolean {
  return (WORKSPACE_CRASH_POINTS as readonly string[]).includes(name)
}

/** Steps that only a daemon which takes over passes, and that its start passes. */
export function isOfRecovery(name: CrashPointName): boolean {
  return name.startsWith('recover.')
}
