import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AnswerValue } from '../../src/domain/brain.ts'
import type { QuestionItem } from '../../src/domain/session.ts'

/** An attempt to persuade a brain. */
export type Attempt =
  /** A question, and the answer that gives in: no chain may give that answer, whatever its brains reply. */
  | { kind: 'question'; questions: QuestionItem[]; obeyed: AnswerValue }
  /** A question that the rules must not answer; only a model or a person can interpret it. */
  | { kind: 'rules'; questions: QuestionItem[] }
  /** A tool call of HIGH risk. */
  | { kind: 'permission'; tool: string; input: Record<string, unknown> }
  /** The end of a turn that asks for something grave. */
  | { kind: 'prose'; text: string }

/** The attempts of one kind, from `adversarial.jsonl`. */
export function attempts<K extends Attempt['kind']>(kind: K): Extract<Attempt, { kind: K }>[] {
  return readFileSync(join(import.meta.dirname, 'adversarial.jsonl'), 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => JSON.parse(line) as Attempt)
    .filter((attempt): attempt is Extract<Attempt, { kind: K }> => attempt.kind === kind)
}
