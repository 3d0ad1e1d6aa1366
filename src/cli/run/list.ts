import { basename } from 'node:path'
import type { RunView } from '../../domain/runs/run-view.ts'
import { ago, duration } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { cut, firstLine, pad, widthOf } from '../render/text.ts'
import { costText, countsText, stateOf } from './words.ts'

const HEAD = ['Run', 'Target', 'State', 'Tasks', 'Cost', 'Since', 'Took']

/** `pcc runs`: one line each, in columns. */
export function runLines(
  { runs, total }: { runs: readonly RunView[]; total: number },
  { paint, width }: Terminal,
  now: number,
): string[] {
  if (runs.length === 0) return ['No runs yet. Begin one with: pcc run .']
  const rows = runs.map(run => [
    run.id,
    targetCell(run),
    stateOf(run).text,
    countsText(run),
    costText(run.cost_usd),
    ago(now - run.created_at),
    duration((run.ended_at ?? now) - run.created_at),
  ])
  const widths = HEAD.map((head, column) => Math.max(...[[...HEAD], ...rows].map(row => widthOf(row[column] ?? head))))
  const line = (cells: readonly string[]) =>
    cut(
      cells
        .map((cell, column) => pad(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
      width,
    )
  const older = total - runs.length
  return [
    paint('bold', line(HEAD)),
    ...rows.map((row, index) => {
      const run = runs[index]
      const text = line(row)
      const state = run && stateOf(run)
      return state ? text.replace(state.text, paint(state.tone, state.text)) : text
    }),
    ...(older > 0 ? [paint('dim', `${older} older: pcc runs --all`)] : []),
  ]
}

function targetCell({ target, project }: RunView): string {
  const place = firstLine(basename(project))
  if (target.kind === 'project') return place
  return `${place}: ${target.kind === 'feature' ? firstLine(target.name) : target.id}`
}
