import { type Escalation, EscalationContext } from '../../domain/escalation.ts'
import type { EscalationRow } from '../store.ts'
import type { EscalationsTable } from '../tables.ts'

/** A row as the table holds it. */
export function asColumns(row: EscalationRow): Omit<EscalationsTable, 'number'> {
  const { input, reasons, context, answer, ...plain } = row
  return {
    ...plain,
    input: JSON.stringify(input),
    reasons: JSON.stringify(reasons),
    context: JSON.stringify(context),
    answer: answer && JSON.stringify(answer),
  }
}

/** Damaged JSON becomes nothing: the row must stay listable. */
export function parsedRow(row: EscalationsTable): Escalation {
  return {
    ...row,
    input: json<Escalation['input']>(row.input) ?? {},
    reasons: json<Escalation['reasons']>(row.reasons) ?? [],
    context: EscalationContext.safeParse(json(row.context)).data ?? {},
    answer: row.answer === null ? null : (json<Escalation['answer']>(row.answer) ?? null),
  }
}

function json<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}
