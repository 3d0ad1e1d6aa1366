import { basename } from 'node:path'
import type { WorktreeForecast, WorktreeView } from '../../domain/workspace/worktree-view.ts'
import { ago, shownPath } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { cut, firstLine, neutral, pad, widthOf } from '../render/text.ts'

interface Where {
  now: number
  cwd: string
  home: string | undefined
}

const HEAD = ['Task', 'Attempt', 'State', 'Project', 'For', 'Since', 'Where']

/** `pcc worktree list`: one line each, in columns. */
export function worktreeLines(worktrees: readonly WorktreeView[], { paint, width }: Terminal, at: Where): string[] {
  if (worktrees.length === 0) return ['No worktrees. A run makes one for each task: pcc run .']
  const rows = worktrees.map(each => [
    each.task,
    String(each.attempt),
    stateText(each),
    firstLine(basename(each.project)),
    firstLine(each.target),
    ago(at.now - each.created_at),
    each.state === 'archived' ? (each.archive ?? '') : shownPath(firstLine(each.top), at.cwd, at.home),
  ])
  const widths = HEAD.map((head, column) => Math.max(...[HEAD, ...rows].map(row => widthOf(row[column] ?? head))))
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => pad(cell, widths[column] ?? 0))
    return cut(padded.join('  ').trimEnd(), width)
  }
  return [paint('bold', line(HEAD)), ...rows.map(line)]
}

/** `pcc worktree show`: the newest in full, those before it in a line each. */
export function worktreePage(
  { worktrees, forecast }: { worktrees: readonly WorktreeView[]; forecast: WorktreeForecast | null },
  { paint }: Terminal,
  at: Where,
): string[] {
  const [newest, ...earlier] = worktrees
  if (!newest) return []
  const fact = (name: string, value: string | null | undefined) =>
    value ? [`${paint('dim', pad(name, 10))}${neutral(value).replaceAll('\n', `\n${' '.repeat(10)}`)}`] : []
  return [
    paint('bold', `${newest.task}  ${firstLine(newest.title ?? '')}`.trimEnd()),
    ...fact('state', `${stateText(newest)}, attempt ${newest.attempt}, made ${ago(at.now - newest.created_at)}`),
    ...fact('where', newest.directory),
    ...fact('branch', `${newest.branch}, for ${newest.target}, from ${newest.base.slice(0, 10)}`),
    ...fact('project', newest.project),
    ...fact('archive', newest.archive),
    ...fact('note', newest.reason),
    ...fact('set-up', newest.setup),
    ...fact('removal', forecast && forecastText(forecast)),
    ...(forecast?.project_is_dirty ? fact('project', 'has changes that are not committed: they are not in it') : []),
    ...earlier.map(each => paint('dim', `attempt ${each.attempt}: ${stateText(each)}${where(each)}`)),
  ]
}

/** What became of it, in a sentence. */
export function removalText(
  task: string,
  removal: { kind: string; why?: string; ref?: string },
): { text: string; isKept: boolean } {
  if (removal.kind === 'removed')
    return { text: `${task}: removed, nothing was in it that is not merged.`, isKept: false }
  const why = neutral(removal.why ?? '')
  if (removal.kind === 'kept') return { text: `${task}: stays, ${why}.`, isKept: true }
  return {
    text: `${task}: archived to ${removal.ref} (${why}). Back with: pcc worktree restore ${task}`,
    isKept: false,
  }
}

function stateText({ state, exists, task_state }: WorktreeView): string {
  if (state === 'live' && !exists) return 'deleted'
  return state === 'live' && task_state !== null ? task_state : state
}

function where({ archive }: WorktreeView): string {
  return archive === null ? '' : `, in ${archive}`
}

function forecastText({ kind, why }: WorktreeForecast): string {
  if (kind === 'removed') return 'nothing would be lost'
  return kind === 'kept' ? `not possible: ${why}` : `would be archived first: ${why}`
}
