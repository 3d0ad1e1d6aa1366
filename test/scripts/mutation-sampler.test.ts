import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Workbench } from '../../scripts/mutation/decide.ts'
import { asMarkdown, reportOn } from '../../scripts/mutation/report.ts'
import { diffOf, mutantsOf, sampleMutants } from '../../scripts/mutation/sample.ts'
import { applied, findMutations, isMutant } from '../../scripts/mutation/sites.ts'
import { tempDir } from '../support/world.ts'

const SAMPLE = `
import { x } from './x.ts'
interface Row { state: 'open' | 'done' }
export async function settle(row: Row, log: Log): Promise<number | undefined> {
  if (row.state === 'open' && row.age > 3) return undefined
  log.warn({ row }, 'nobody looks at this')
  if (row.age > 9) log.info({ row }, 'nor at this')
  crashPoint('settle.before')
  await store.update(row.id, { state: 'done', note: row.note ?? null })
  const mine = rows.filter(one => !one.gone)
  if (mine.length === 0) throw new AppError('none', { count: mine.length + 1 })
  return mine.length - 1
}
`

test('mutants are made where something is decided or stored, not in logs, errors, types and imports', () => {
  const found = findMutations('sample.ts', SAMPLE).filter(one => isMutant('sample.ts', SAMPLE, one))
  assert.deepEqual(
    found.map(one => `${one.kind}: ${SAMPLE.slice(one.start, one.end).split('\n')[0]} → ${one.replacement}`),
    [
      `condition negated: row.state === 'open' && row.age > 3 → !(row.state === 'open' && row.age > 3)`,
      `condition always true: row.state === 'open' && row.age > 3 → true`,
      `condition always false: row.state === 'open' && row.age > 3 → false`,
      `&& is ||: row.state === 'open' && row.age > 3 → row.state === 'open' || row.age > 3`,
      `=== is !==: row.state === 'open' → row.state !== 'open'`,
      `> is >=: row.age > 3 → row.age >= 3`,
      `call removed: await store.update(row.id, { state: 'done', note: row.note ?? null }) → ;`,
      `property dropped: state: 'done', → `,
      `word changed: 'done' → 'other'`,
      `property dropped: note: row.note ?? null → `,
      `fallback dropped: row.note ?? null → row.note`,
      `filter dropped: rows.filter(one => !one.gone) → rows`,
      `value emptied: !one.gone → undefined`,
      `not dropped: !one.gone → one.gone`,
      `condition negated: mine.length === 0 → !(mine.length === 0)`,
      `condition always true: mine.length === 0 → true`,
      `condition always false: mine.length === 0 → false`,
      `=== is !==: mine.length === 0 → mine.length !== 0`,
      `value emptied: mine.length - 1 → undefined`,
      `- is +: mine.length - 1 → mine.length + 1`,
    ],
  )
})

test('invalid TypeScript and unchanged text are not mutants', () => {
  const at = { kind: 'x', start: 4, end: 5 }
  assert.ok(isMutant('a.ts', 'let a = 1', { ...at, replacement: 'b' }))
  assert.ok(!isMutant('a.ts', 'let a = 1', { ...at, replacement: 'a' }))
  assert.ok(!isMutant('a.ts', 'let a = 1', { ...at, replacement: '(' }))
})

/** A checkout with two functions. The tests check the first completely, and the second only for running. */
const CHECKOUT = {
  'package.json': '{ "type": "module" }',
  'src/store/age.ts': `
export const isOld = (age: number): boolean => age > 10
export function label(age: number): string {
  return age < 0 ? 'unborn' : 'born'
}
`,
  'src/tasks/unseen.ts': 'export const isUnseen = (age: number): boolean => age > 10\n',
  'test/store/age.test.ts': `
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOld, label } from '../../src/store/age.ts'
test('eleven is old, ten is not', () => {
  assert.equal(isOld(11), true)
  assert.equal(isOld(10), false)
  label(1)
})
`,
}

function checkout(t: TestContext): string {
  const root = tempDir(t)
  for (const [path, text] of Object.entries(CHECKOUT)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

test('a seed gives the same sample again, at most one mutant per site, from every part', t => {
  const root = checkout(t)
  const sample = (seed: string, count: number) =>
    sampleMutants(root, { parts: ['store', 'tasks'], seed, count }).map(({ id }) => id)
  assert.deepEqual(sample('1', 3), sample('1', 3))
  assert.notDeepEqual(sample('1', 3), sample('2', 3))
  const all = sample('1', 99)
  assert.deepEqual(all.map(id => id.replace(/ .*/, '')).sort(), [
    'store/age.ts:2:48',
    'store/age.ts:4:10',
    'tasks/unseen.ts:1:51',
  ])
})

test('a mutant that a test catches is killed, one that no test catches survives, and neither is tried twice', async t => {
  const root = checkout(t)
  const mutants = [...mutantsOf(root, 'store'), ...mutantsOf(root, 'tasks')]
  const named = (id: string) => mutants.find(one => one.id === id) ?? assert.fail(id)
  const seen = named('store/age.ts:2:48 > is >=')
  const unseen = named('store/age.ts:4:10 < is <=')
  const unrun = named('tasks/unseen.ts:1:51 > is >=')
  {
    using bench = new Workbench(root, t.signal)
    const killed = await bench.decide(seen, 'unit')
    assert.equal(killed.outcome, 'killed')
    assert.deepEqual(killed.by && [killed.by.file, killed.by.title], [
      'test/store/age.test.ts',
      'eleven is old, ten is not',
    ])
    const survivor = await bench.decide(unseen, 'unit')
    assert.deepEqual([survivor.outcome, Object.keys(survivor.passed)], ['survived', ['test/store/age.test.ts']])
    const nobodys = await bench.decide(unrun, 'unit')
    assert.deepEqual([nobodys.outcome, nobodys.passed], ['survived', {}])
    assert.equal(
      readFileSync(join(root, seen.file), 'utf8'),
      CHECKOUT['src/store/age.ts'],
      'the checkout itself is never touched',
    )
  }
  const lines = readFileSync(join(root, '.mutation/results.jsonl'), 'utf8')
  using again = new Workbench(root, t.signal)
  for (const mutant of [seen, unseen, unrun]) await again.decide(mutant, 'unit')
  assert.equal(readFileSync(join(root, '.mutation/results.jsonl'), 'utf8'), lines)
  const report = reportOn([seen, unseen, unrun], again.results, { seed: '1', file: join(root, 'none.json') })
  const told = asMarkdown(report, [])
  assert.match(told, /1 of 3 mutants killed/)
  assert.match(told, /\| store \| 2 \| 1 \| 1 \| 0 \| 0 \| 1 \|/)
  assert.deepEqual(
    report.survivors.map(({ id, diff }) => [id, diff]),
    [unseen, unrun].map(one => [one.id, diffOf(one)]),
  )
  assert.equal(diffOf(unseen), `-   return age < 0 ? 'unborn' : 'born'\n+   return age <= 0 ? 'unborn' : 'born'`)
  assert.equal(applied(unseen.text, unseen).length, unseen.text.length + 1)
})

test('a test process that dies once without a failed test proves nothing: the tests run again', async t => {
  const root = checkout(t)
  const died = join(root, 'died')
  writeFileSync(
    join(root, 'test/store/age.test.ts'),
    `
import { existsSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { isOld } from '../../src/store/age.ts'
test('dies by a signal the first time that the mistake is there', () => {
  if (!isOld(10) || existsSync(${JSON.stringify(died)})) return
  writeFileSync(${JSON.stringify(died)}, '')
  process.kill(process.pid, 'SIGKILL')
})
`,
  )
  const mutant = mutantsOf(root, 'store').find(one => one.id === 'store/age.ts:2:48 > is >=') ?? assert.fail()
  using bench = new Workbench(root, t.signal)
  const result = await bench.decide(mutant, 'unit')
  assert.ok(existsSync(died))
  assert.equal(result.outcome, 'survived')
})
