import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../places.ts'
import { type CorpusRow, judgeRows } from './report.ts'

const CORPUS = join(ROOT, 'test/policy/corpus')
const RECORD = join(ROOT, 'test/policy/rows/record.jsonl')

/** The rows of the project's own corpus, file by file. */
export function corpusFiles(): { name: string; rows: CorpusRow[] }[] {
  return readdirSync(CORPUS).map(name => ({ name, rows: linesOf(join(CORPUS, name)) as CorpusRow[] }))
}

/** The recorded verdict on each row, as last written and reviewed. */
export function readRecord(): Map<string, string[]> {
  const lines = linesOf(RECORD) as { id: string; said: string[] }[]
  return new Map(lines.map(({ id, said }) => [id, said]))
}

/** Records the current verdict on each row; git then shows the effect of a change of the policy. */
export async function writeRecord(): Promise<void> {
  const judged = await judgeRows(corpusFiles().flatMap(({ rows }) => rows))
  writeFileSync(RECORD, judged.map(({ row, said }) => `${JSON.stringify({ id: row.id, said })}\n`).join(''))
}

function linesOf(file: string): unknown[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}
