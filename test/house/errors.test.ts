import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { errorsPage } from '../../scripts/errors-page.ts'
import { AppError, ERRORS, type ErrorCode } from '../../src/base/errors.ts'
import { ROOT, readTree } from './source-tree.ts'

const codes = Object.keys(ERRORS) as ErrorCode[]

test('docs/errors.md lists every error as the table has it (write it with: npm run docs)', () => {
  assert.equal(readFileSync(join(ROOT, 'docs/errors.md'), 'utf8'), errorsPage())
})

test('every error code is used somewhere in the source', () => {
  const source = readTree(ROOT, ['src', 'bin'])
    .filter(file => !file.path.startsWith('src/base/error-rows/'))
    .map(file => file.text)
    .join('\n')
  const unused = codes.filter(code => !new RegExp(`['"]${code}['"]`).test(source))
  assert.deepEqual(unused, [])
})

test('no two tables of errors have the same code', async () => {
  const folder = join(ROOT, 'src/base/error-rows')
  const files = await Promise.all(globSync('*.ts', { cwd: folder }).map(name => import(join(folder, name))))
  const rows = files.flatMap(file => Object.values(file as Record<string, object>).flatMap(table => Object.keys(table)))
  assert.deepEqual(
    rows.filter((code, index) => rows.indexOf(code) !== index),
    [],
  )
})

test('every error says what happened and what to do next', () => {
  for (const code of codes) {
    const { says, next, exit, http } = ERRORS[code]
    assert.match(says, /[.}]$/, `${code} ends as a sentence or with a detail`)
    assert.ok(next.length > 5, `${code} says what to do next`)
    assert.ok([1, 2, 3, 4, 5].includes(exit), `${code} has an exit code of the family`)
    assert.ok(http >= 400 && http < 600, `${code} has an HTTP status of a failure`)
  }
})

test('a message names what it is about, and no placeholder is left unfilled', () => {
  for (const code of codes) {
    const holes = [...`${ERRORS[code].says} ${ERRORS[code].next}`.matchAll(/\{(\w+)\}/g)].map(match => match[1] ?? '')
    const error = new AppError<ErrorCode>(code, Object.fromEntries(holes.map(hole => [hole, `<${hole}>`])) as never)
    assert.doesNotMatch(`${error.message} ${error.next}`, /[{}]/)
    for (const hole of holes) assert.ok(`${error.message} ${error.next}`.includes(`<${hole}>`))
    assert.equal(error.exit, ERRORS[code].exit)
    assert.equal(error.http, ERRORS[code].http)
  }
})
