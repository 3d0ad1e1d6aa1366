import type { EscalationView } from '../../../domain/escalation.ts'
import { wakeTime } from '../../render/format.ts'
import { suggestionLine } from '../../render/lines/suggestion-line.ts'
import { firstLine, neutral, wrap } from '../../render/text.ts'
import { changeLines } from './change-lines.ts'

/** What a person judges by beside the request itself: what it would change, the task, the last steps, what the brain would say. */
export function contextLines(row: EscalationView, { width, now }: { width: number; now: number }): string[] {
  const { task, context, sessions } = row
  const steps = context.steps ?? []
  const suggestion = suggestionLine(context.suggestion)
  return [
    ...changeLines(row, width),
    ...wrap(`Task: ${firstLine(task)}`, width),
    ...(steps.length > 0 ? ['Just before:', ...steps.flatMap(step => wrap(`  - ${firstLine(step)}`, width))] : []),
    ...(sessions.length > 1 ? wrap(`Waits for it: ${sessions.join(', ')}`, width) : []),
    ...(suggestion === undefined ? [] : wrap(suggestion, width)),
    ...(suggestion !== undefined && context.suggestion?.reasoning
      ? wrap(`  ${neutral(context.suggestion.reasoning)}`, width)
      : []),
    ...deadlineLine(row, now),
  ]
}

function deadlineLine({ state, kind, deadline, on_deadline }: EscalationView, now: number): string[] {
  if (state !== 'open' || deadline === null || on_deadline === 'keep_waiting') return []
  const then =
    on_deadline === 'take_suggestion'
      ? 'the suggestion is taken'
      : kind === 'question'
        ? 'the agent decides'
        : 'it is refused'
  return [`Unanswered until ${wakeTime(deadline, now)}: ${then}`]
}
