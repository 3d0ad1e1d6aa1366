import type { Finding } from '../../../../domain/workspace/evidence.ts'
import type { Change, DiffSettings } from '../change/change.ts'
import type { DiffCode } from '../codes.ts'

export interface DiffFinding extends Finding {
  code: DiffCode
}

/** Looks at a whole change and says what it sees. Rules know nothing of one another. */
export type DiffRule = (change: Change, settings: DiffSettings) => DiffFinding[]

/** A finding that keeps the task from being done. */
export function block(code: DiffCode, text: string, at: { file?: string; line?: number } = {}): DiffFinding {
  return { code, weight: 'block', text, ...at }
}

/** A finding that is shown. */
export function note(code: DiffCode, text: string, at: { file?: string; line?: number } = {}): DiffFinding {
  return { code, weight: 'note', text, ...at }
}
