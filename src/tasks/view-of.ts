import type { Task, TaskView } from '../domain/task.ts'

/** A task as the API shows it. */
export function viewOf(task: Task, after: string[]): TaskView {
  const { position: _, lease_owner: __, labels, acceptance, budget, ...shown } = task
  return {
    ...shown,
    after,
    labels: wordsIn(labels),
    acceptance: linesIn(acceptance),
    budget: budget === null ? null : (JSON.parse(budget) as Record<string, number>),
  }
}

/** Labels as the row holds them: a space before and behind each, so that one is found whole. */
export function labelsColumn(labels: readonly string[]): string {
  return labels.length === 0 ? '' : ` ${[...new Set(labels)].join(' ')} `
}

/** Criteria as the row holds them: one a line. */
export function acceptanceColumn(criteria: readonly string[]): string {
  return criteria.map(each => each.replace(/\s*\n\s*/g, ' ').trim()).join('\n')
}

function wordsIn(column: string): string[] {
  return column === '' ? [] : column.trim().split(' ')
}

function linesIn(column: string): string[] {
  return column === '' ? [] : column.split('\n')
}
