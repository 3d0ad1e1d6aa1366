import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { judgeChange } from '../../../../src/workspace/verify/diff/judge-change.ts'
import { changeOf } from './change-of.ts'
import { SAMPLES } from './samples.ts'

const SETTINGS = { maxChangedLines: 0, forbiddenPaths: [], allow: [] }
const found = (path: string, before: string, after: string) =>
  judgeChange(changeOf(path, before, after), SETTINGS).map(({ code, weight }) => `${weight} ${code}`)

const BATS = '@test "adds" {\n  run add 1 2\n  [ "$output" = "3" ]\n}\n'

test('a test in a language without a grammar may grow, and every line that it loses stands in the way', () => {
  assert.deepEqual(found('test/a.bats', BATS, BATS.replace('}', '  [ -z "$stderr" ]\n}')), [])
  assert.deepEqual(found('test/a.bats', BATS, BATS.replace('= "3"', '= "3" ] && [ "$status" -eq 0')), [])
  assert.deepEqual(found('test/a.bats', BATS, BATS.replace(/.*output.*\n/, '')), ['block test.unread'])
  assert.deepEqual(found('test/a.bats', BATS, BATS.replace('"3"', '"4"')), ['block test.unread'])
  assert.deepEqual(found('test/a.bats', BATS, BATS.replace('  run', '  skip later\n  run')), ['block test.skipped'])
})

test('a test of a language that nobody named is known by its name, and data and scripts beside it are none', () => {
  const text = 'pub fn adds_test() {\n  should.equal(add(1, 2), 3)\n}\n'
  const without = text.replace(/.*equal.*\n/, '')
  for (const path of [
    'test/app_test.gleam',
    'spec/app_spec.cr',
    'test/test_app.nim',
    'AppTest.scala',
    'test/alter.test',
  ])
    assert.deepEqual(found(path, text, without), ['block test.unread'], path)
  for (const path of [
    'test/app_test.json',
    'test.yml',
    '.env.test',
    'Dockerfile.test',
    'docs/test-plan.md',
    'app.spec',
  ])
    assert.ok(!found(path, text, without).includes('block test.unread'), path)
})

test('a file that no longer parses is compared line by line as well', () => {
  const { file, path, test: write } = SAMPLES.javascript ?? assert.fail()
  const before = file([write('adds', 10, 'sum'), write('counts', 17, 'sum')])
  const after = before.replace('assert.equal(sum, 11)', 'assert.equal(sum, @@12))')
  assert.ok(found(path, before, after).includes('block test.unread'))
})

test('where the grammar of a language is not installed, every line that a test loses stands in the way', () => {
  const { file, path, test: write } = SAMPLES.ruby ?? assert.fail()
  const before = file([write('adds', 10, 'sum'), write('counts', 17, 'sum')])
  const after = before.replace(/ {4}expect.*\n/, '')
  const hide = `import m from 'node:module'; const find = m._resolveFilename
    m._resolveFilename = function (name, ...rest) { if (name === '@ast-grep/lang-ruby') throw new Error('none'); return find.call(this, name, ...rest) }`
  const judge = join(import.meta.dirname, '../../../../src/workspace/verify/diff/judge-change.ts')
  const script = `import { judgeChange } from ${JSON.stringify(judge)}
    const [before, after] = ${JSON.stringify([changeOf(path, before, after), changeOf(path, before, before)])}
    const codes = change => judgeChange({ ...change, unchanged: new Map() }, ${JSON.stringify(SETTINGS)}).map(({ code }) => code)
    console.log(JSON.stringify([codes(before), codes(after)]))`
  const run = (flags: string[]) =>
    JSON.parse(execFileSync(process.execPath, [...flags, '--input-type=module', '-e', script], { encoding: 'utf8' }))
  assert.deepEqual(run(['--import', `data:text/javascript,${encodeURIComponent(hide)}`]), [['test.unread'], []])
  assert.deepEqual(run([]), [['test.assertion-removed'], []])
})
