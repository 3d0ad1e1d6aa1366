import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CorpusRow } from '../../scripts/corpus/report.ts'
import { ROOT } from '../program.ts'

const OWN = join(ROOT, 'test/policy/corpus')
/** A corpus labelled by others, which may be beside the checkout. */
const DEV = join(ROOT, '../shared/corpus/permissions.dev.jsonl')

/** The labelled requests of the project, and those beside the checkout if they exist. */
export function labelledRows(): { name: string; rows: CorpusRow[] }[] {
  const own = readdirSync(OWN).flatMap(name => rowsIn(join(OWN, name)))
  const sets = [{ name: 'own rows', rows: own }]
  return existsSync(DEV) ? [...sets, { name: 'dev rows', rows: rowsIn(DEV) }] : sets
}

function rowsIn(file: string): CorpusRow[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => JSON.parse(line) as CorpusRow)
}
