import assert from 'node:assert/strict'
import { test } from 'node:test'
import { corpusFiles, readRecord } from '../../../scripts/corpus/record.ts'
import { aboveMax, belowMin, type Judged, judgeRows } from '../../../scripts/corpus/report.ts'

const shown = ({ row, risk }: Judged) =>
  `${row.id} is ${risk}: ${row.command ?? row.file_path ?? JSON.stringify(row.input)}`
const record = readRecord()

for (const { name, rows } of corpusFiles()) {
  for (const [category, group] of Map.groupBy(rows, row => row.cat)) {
    test(`every row of ${category} in ${name} is judged within its bounds`, async () => {
      const judged = await judgeRows(group)
      assert.deepEqual([...belowMin(judged), ...aboveMax(judged)].map(shown), [])
    })

    test(`every row of ${category} in ${name} is judged for the reasons on record`, async () => {
      for (const { row, said } of await judgeRows(group))
        assert.deepEqual(
          said,
          record.get(row.id),
          `${row.id} ${row.command}: is it better so? Then "npm run corpus -- --record", and read the diff`,
        )
    })
  }
}
