import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeRecord } from './corpus/record.ts'
import { type CorpusRow, report } from './corpus/report.ts'

// npm run corpus [-- path.jsonl] [--misses]: measures the classifier on labelled requests. Fails on a row below its minimum risk.
// With --record the reasons for every row of our own corpus are written again; git then shows the effect of a change.
const { values, positionals } = parseArgs({
  options: { misses: { type: 'boolean' }, record: { type: 'boolean' } },
  allowPositionals: true,
})
if (values.record) await writeRecord()
const folder = join(import.meta.dirname, '../test/policy/corpus')
const files = positionals.length > 0 ? positionals : readdirSync(folder).map(name => join(folder, name))
const rows = files.flatMap(file =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => JSON.parse(line) as CorpusRow),
)
const { text, belowMin } = await report(rows, { misses: values.misses === true })
process.stdout.write(text)
process.exit(belowMin > 0 ? 1 : 0)
