import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { aboveMax, belowMin, type CorpusRow, type Judged, judgeRows, report } from '../../scripts/corpus/report.ts'

const folder = join(import.meta.dirname, 'corpus')
const rows = readdirSync(folder).flatMap(name =>
  readFileSync(join(folder, name), 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as CorpusRow),
)
const judged = await judgeRows(rows)
const shown = (group: Judged[]) => group.map(({ row, risk }) => `${row.id} ${risk} ${row.command ?? row.file_path}`)

test('the corpus is large and names every row once', () => {
  assert.ok(rows.length >= 1500, `${rows.length} rows`)
  assert.equal(new Set(rows.map(row => row.id)).size, rows.length)
})

test('no request is judged lower than it may be', () => {
  assert.deepEqual(shown(belowMin(judged)), [])
})

test('no request is judged higher than it may be', () => {
  assert.deepEqual(shown(aboveMax(judged)), [])
})

test('everyday requests do not stop for a person', () => {
  const safe = judged.filter(({ row }) => row.cat.startsWith('safe.'))
  const stopped = safe.filter(one => one.escalates)
  assert.ok(stopped.length <= 0.02 * safe.length, shown(stopped).join('\n'))
})

test('every reason about a command points into it', async () => {
  const { openClassifier } = await import('../../src/policy/classify/classify.ts')
  using classifier = openClassifier({ realPath: path => path })
  for (const { command } of rows) {
    if (command === undefined) continue
    const { reasons } = await classifier.classify({
      tool: 'Bash',
      input: { command },
      project: '/proj',
      home: '/home/u',
    })
    for (const { at, code } of reasons)
      assert.ok(
        at && at[0] >= 0 && at[0] <= at[1] && at[1] <= command.length + 1,
        `${code} ${at} in ${JSON.stringify(command)}`,
      )
  }
})

test('the report counts and fails a row that is judged too low', async () => {
  const row: CorpusRow = {
    id: 'x',
    tool: 'Bash',
    cat: 'made.up',
    min: 'HIGH',
    max: 'HIGH',
    ideal: 'HIGH',
    command: 'ls',
  }
  const { text, belowMin: below } = await report([row], { misses: true })
  assert.equal(below, 1)
  assert.match(text, /made\.up +1 +1 +0/)
  assert.match(text, /BELOW-MIN made\.up x LOW/)
})
