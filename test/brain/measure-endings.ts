import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { questionInProse } from '../../src/brain/rules/turn-ending.ts'

export interface LabelledEnding {
  text: string
  /** What is asked; null if nothing is. */
  kind: 'proceed' | 'choice' | 'other' | null
}

/** How well questions in prose are distinguished from reports, on labelled endings. */
export function measureEndings(rows: readonly LabelledEnding[]) {
  const seen = rows.map(row => ({ ...row, found: questionInProse(row.text) }))
  const hits = seen.filter(({ kind, found }) => kind !== null && found !== undefined)
  const falseAlarms = seen.filter(({ kind, found }) => kind === null && found !== undefined)
  const missed = seen.filter(({ kind, found }) => kind !== null && found === undefined)
  return {
    rows: rows.length,
    questions: hits.length + missed.length,
    precision: hits.length / (hits.length + falseAlarms.length),
    recall: hits.length / (hits.length + missed.length),
    kinds: hits.filter(({ kind, found }) => found?.kind === kind).length / hits.length,
    falseAlarms: falseAlarms.map(({ text }) => text),
    missed: missed.map(({ text }) => text),
  }
}

/** The labelled endings of a file, one JSON object per line; without a path those of the repository. */
export function readEndings(path = join(import.meta.dirname, 'turn-endings.jsonl')): LabelledEnding[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => JSON.parse(line) as LabelledEnding)
}
