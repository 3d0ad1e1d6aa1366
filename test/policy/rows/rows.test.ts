import assert from 'node:assert/strict'
import { test } from 'node:test'
import { corpusFiles, readRecord } from '../../../scripts/corpus/record.ts'
import { aboveMax, belowMin, type CorpusRow, type Judged, judgeRows } from '../../../scripts/corpus/report.ts'

const record = readRecord()
const shown = ({ row, risk }: Judged) =>
  `${row.id} is ${risk}: ${row.command ?? row.file_path ?? JSON.stringify(row.input)}`

for (const { name, rows } of corpusFiles()) {
  for (const [word, group] of Map.groupBy(rows, firstWord)) {
    test(`the rows of ${name} that begin with ${word} are judged within their bounds, for the reasons on record`, async () => {
      const judged = await judgeRows(group)
      assert.deepEqual([...belowMin(judged), ...aboveMax(judged)].map(shown), [])
      for (const { row, said } of judged)
        assert.deepEqual(
          said,
          record.get(row.id),
          `${row.id} ${row.command}: is it better so? Then "npm run corpus -- --record", and read the diff`,
        )
    })
  }
}

/** One test per program, so that a failure of one is told apart from a failure of all. */
function firstWord({ command, tool }: CorpusRow): string {
  return /[\w.-]+/.exec(command ?? tool)?.[0] ?? 'signs'
}
