import type { RunPlan } from '../../domain/runs/run-view.ts'
import { counted } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { cut, firstLine, neutral } from '../render/text.ts'

/** `pcc run --dry-run`: the order, with the model of each and why. */
export function planLines(plan: RunPlan, { paint, width }: Terminal): string[] {
  const { steps, held_up, beyond_limit } = plan
  const digits = String(steps.length).length
  const rows = steps.flatMap(({ id, title, model, why }, index) => [
    cut(`${String(index + 1).padStart(digits)}. ${id}  ${firstLine(title)}`, width),
    paint('dim', cut(`${' '.repeat(digits + 2)}${model === null ? '' : `${neutral(model)}: `}${neutral(why)}`, width)),
  ])
  const heading =
    steps.length === 0
      ? 'Nothing can be done: no task of it is ready.'
      : `${counted(steps.length, 'task')}, in this order if each goes well at its first try; nothing was started:`
  return [
    heading,
    ...rows,
    ...placeLines(plan),
    ...(beyond_limit > 0 ? [`${counted(beyond_limit, 'more task')} would be left by the limit.`] : []),
    ...(held_up.length > 0 ? ['Would not run:'] : []),
    ...held_up.map(({ id, title, why }) => cut(`  ${id}  ${firstLine(title)}: ${neutral(why)}`, width)),
  ]
}

/** Where it would be done, and how much at once. */
function placeLines({ steps, parallel, in_place }: RunPlan): string[] {
  if (steps.length === 0) return []
  if (in_place !== null) return [`One at a time, in the project itself: ${neutral(in_place)}.`]
  return [`Each in a worktree of its own, ${parallel === 1 ? 'one at a time' : `at most ${parallel} at once`}.`]
}
