import type { MergeState, MergeView } from '../../domain/workspace/merge.ts'
import { ago } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { cut, firstLine, pad, widthOf } from '../render/text.ts'

const HEAD = ['No', 'Task', 'State', 'Into', 'Since', 'What']

/** `pcc merge list`: one line each, in columns; why one waits is told in full below it. */
export function mergeLines(merges: readonly MergeView[], { paint, width }: Terminal, now: number): string[] {
  if (merges.length === 0) return ['No merges. Work is queued here when its gates have passed.']
  const rows = merges.map(each => [
    String(each.id),
    each.task_id,
    WORDS[each.state],
    firstLine(each.target),
    ago(now - each.updated_at),
    firstLine(each.title ?? each.branch),
  ])
  const widths = HEAD.map((head, column) => Math.max(...[HEAD, ...rows].map(row => widthOf(row[column] ?? head))))
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => pad(cell, widths[column] ?? 0))
    return cut(padded.join('  ').trimEnd(), width)
  }
  const indent = ' '.repeat((widths[0] ?? 0) + 2)
  const why = (merge: MergeView) => {
    const text = whyText(merge)
    return text === '' ? [] : [paint('dim', `${indent}${text}`)]
  }
  return [paint('bold', line(HEAD)), ...merges.flatMap((each, index) => [line(rows[index] ?? []), ...why(each)])]
}

function whyText({ reason, state, ahead, task_id }: MergeView): string {
  if (reason !== null) return firstLine(reason)
  if (state === 'review') return `waits for your review: pcc review ${task_id}`
  return state === 'queued' && ahead > 0 ? `${ahead} before it` : ''
}

const WORDS: Record<MergeState, string> = {
  queued: 'queued',
  rebasing: 'at work',
  verifying: 'verified again',
  landing: 'landing',
  conflicted: 'conflict',
  waiting: 'waits',
  review: 'review',
  merged: 'merged',
  proposed: 'pull request',
  failed: 'given up',
  aborted: 'called off',
}
