import type { Task, TaskView } from '../domain/task.ts'
import { cleanLine } from '../domain/tasks/requests.ts'

/** A task as the API shows it. Field by field: of ten thousand rows, taking some out of each costs ten times as much. */
export function viewOf(task: Task, after: string[]): TaskView {
  return {
    id: task.id,
    session_id: task.session_id,
    project: task.project,
    title: task.title,
    description: task.description,
    state: task.state,
    reason: task.reason,
    priority: task.priority,
    after,
    attempt: task.attempt,
    created_at: task.created_at,
    started_at: task.started_at,
    ended_at: task.ended_at,
    wakes_at: task.wakes_at,
    result: task.result,
    parent_id: task.parent_id,
    feature: task.feature,
    type: task.type,
    labels: wordsIn(task.labels),
    acceptance: linesIn(task.acceptance),
    paths: linesIn(task.paths),
    verification: task.verification,
    retries: task.retries,
    max_retries: task.max_retries,
    open_blockers: task.open_blockers,
    children: task.children,
    children_open: task.children_open,
    children_failed: task.children_failed,
    children_done: task.children_done,
    run_id: task.run_id,
    model: task.model,
    budget: task.budget === null ? null : (JSON.parse(task.budget) as Record<string, number>),
  }
}

/** Labels as the row holds them: a space before and behind each, so that one is found whole. */
export function labelsColumn(labels: readonly string[]): string {
  return labels.length === 0 ? '' : ` ${[...new Set(labels)].join(' ')} `
}

/** Criteria as the row holds them: one a line. */
export function acceptanceColumn(criteria: readonly string[]): string {
  return criteria.map(cleanLine).join('\n')
}

/** Paths as the row holds them: one a line, each once. */
export function pathsColumn(paths: readonly string[]): string {
  return [...new Set(paths)].join('\n')
}

function wordsIn(column: string): string[] {
  return column === '' ? [] : column.trim().split(' ')
}

/** A column that holds one thing a line. */
export function linesIn(column: string): string[] {
  return column === '' ? [] : column.split('\n')
}
