import type { RunTarget } from '../../domain/runs/run.ts'
import type { TaskScope } from '../../domain/task.ts'
import type { RunRow } from '../../store/runs/rows.ts'

/** The tasks that a run drains. */
export function scopeOf({ project, target }: Pick<RunRow, 'project' | 'target'>): TaskScope {
  if (target.kind === 'feature') return { project, feature: target.name }
  return target.kind === 'task' ? { project, task: target.id } : { project }
}

/** Whether two runs of one project would draw from the same tasks. What one task is a part of is not looked at: claims are exclusive. */
export function overlap(a: RunTarget, b: RunTarget): boolean {
  return a.kind === 'project' || b.kind === 'project' || targetName(a) === targetName(b)
}

/** What a person calls it. */
export function targetName(target: RunTarget): string {
  if (target.kind === 'project') return 'this project'
  return target.kind === 'feature' ? `feature ${target.name}` : `task ${target.id}`
}
