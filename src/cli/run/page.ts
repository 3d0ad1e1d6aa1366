import type { RunDetail } from '../../domain/runs/run-view.ts'
import { counted, dateTime, duration, shownPath } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { firstLine, neutral } from '../render/text.ts'
import { leftText, quotaText } from './board/words.ts'
import { attemptLine } from './plain-lines.ts'
import { apartText, costText, countsText, mergedText, stateOf, targetText } from './words.ts'

/** Attempts that a page shows. */
const SHOWN = 10

export interface Here {
  terminal: Terminal
  now: number
  cwd: string
  home: string | undefined
}

/** A run in full: `pcc status r-…`. */
export function runPage(run: RunDetail, { terminal, now, cwd, home }: Here): string[] {
  const { paint } = terminal
  const { text, tone } = stateOf(run)
  const quota = quotaText(run)
  const left = leftText(run)
  const held = run.attempts.filter(({ outcome, now }) => outcome === null && now?.held_up !== undefined)
  const waiting = run.attempts.filter(({ now }) => now?.decision != null)
  return [
    paint('bold', `Run ${run.id}: ${targetText(run)}`),
    `Project: ${neutral(shownPath(run.project, cwd, home))}`,
    `State: ${paint(tone, text)}${run.reason ? `, ${firstLine(run.reason)}` : ''}`,
    `Tasks: ${[countsText(run), mergedText(run)].filter(Boolean).join('; ')}`,
    `Attempts: ${run.iterations}${run.limit === null ? '' : ` of ${run.limit}`}${run.parallel > 1 ? `, ${run.parallel} at once` : ''}`,
    `Cost: ${costText(run.cost_usd)}`,
    ...(quota === undefined ? [] : [`Quota: ${quota}`]),
    `Begun: ${dateTime(run.created_at)}, ${duration((run.ended_at ?? now) - run.created_at)} in all`,
    ...(left === undefined ? [] : [`Left: ${left}`]),
    ...run.kept_apart.map(each => `Waits: ${apartText(each)}`),
    ...held.map(({ task_id, now }) => paint('yellow', `Held up: ${task_id}, ${firstLine(now?.held_up ?? '')}`)),
    ...waiting.map(({ task_id, now }) =>
      paint(
        'yellow',
        `Needs you: ${task_id}, ${now?.landing === 'merging' ? `pcc review ${task_id}` : `pcc respond ${now?.decision}`}`,
      ),
    ),
    '',
    paint('bold', run.attempts.length > SHOWN ? `The last ${counted(SHOWN, 'attempt')}:` : 'Attempts:'),
    ...(run.attempts.length === 0 ? ['none yet'] : run.attempts.slice(-SHOWN).map(one => attemptLine(one, terminal))),
  ]
}
