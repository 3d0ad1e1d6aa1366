import type { PastAttempt } from '../../domain/runs/past-attempt.ts'
import type { Task } from '../../domain/task.ts'
import type { Store, Tx } from '../../store/store.ts'
import { retryPlan } from '../retries/retry-plan.ts'
import { type Brief, type BriefSection, buildBrief } from './build-brief.ts'
import { retrySection } from './retry-section.ts'
import { skillsSection } from './skills-section.ts'
import { taskSections } from './task-sections.ts'

/** Leaves most of the smallest window of today (200,000) to the work. */
const MOST_TOKENS = 60_000

export interface BriefOptions {
  store: Pick<Store, 'tasks'>
  /** Attempts at this task, oldest first. */
  attempts: readonly PastAttempt[]
  /** What other parts have to tell: spec and plan, notes, code, memory. */
  more?: readonly BriefSection[]
  tx?: Tx | undefined
}

/** Exactly what an agent would be sent for a task now. */
export async function briefFor(task: Task, { store, attempts, more = [], tx }: BriefOptions): Promise<Brief> {
  const { tasks } = store
  const parent = task.parent_id === null ? undefined : await tasks.get(task.parent_id, tx)
  const edges = await tasks.blockersOf([task.id], tx)
  const blockers = await Promise.all(edges.map(({ blocker_id }) => tasks.get(blocker_id, tx)))
  const plan = retryPlan(attempts, { maxRetries: Number.POSITIVE_INFINITY })
  const sections = taskSections({
    task,
    parent,
    blockers: blockers.filter(each => each !== undefined).sort((a, b) => a.position - b.position),
  })
  const retry = retrySection(attempts, plan.again ? plan.note : undefined)
  return buildBrief([...sections, retry, ...more, await skillsSection(task.project)], { tokens: MOST_TOKENS })
}
