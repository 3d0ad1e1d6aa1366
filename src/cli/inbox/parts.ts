import type { EscalationView } from '../../domain/escalation.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { questionsIn } from '../../human/memory/questions.ts'
import type { Inbox } from './inbox.ts'

/** The part of a question that is to be answered next. */
export interface Part {
  item: QuestionItem
  index: number
  of: number
  /** What the brain would say to it. */
  suggested: string | string[] | undefined
}

/** The questions of a row; none where it is no question, or too long to be kept. */
export function partsOf({ kind, input }: Pick<EscalationView, 'kind' | 'input'>): QuestionItem[] {
  return kind === 'question' ? (questionsIn(input) ?? []) : []
}

/** What of a question is to be answered next; nothing when it is no question. */
export function nextPart(row: EscalationView, { answers }: Pick<Inbox, 'answers'>): Part | undefined {
  const parts = partsOf(row)
  const index = parts.findIndex(({ question }) => answers[question] === undefined)
  const item = parts[index]
  if (!item) return undefined
  const suggested = row.context.suggestion?.answer[index]
  return { item, index, of: parts.length, suggested: suggested?.length === 0 ? undefined : suggested }
}
