import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as z from 'zod'
import { errorsPage } from '../../scripts/errors-page.ts'
import { AppError, ERRORS, type ErrorCode } from '../../src/base/errors.ts'
import { parseRequest } from '../../src/daemon/routes/errors.ts'
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

test('a path or a name in a command of advice is quoted, so that it can be copied as it is', () => {
  const error = new AppError('session_in_worktree', { id: 's-1', project: '/a #2' })
  assert.match(error.next, /--project '\/a #2', then: pcc run '\/a #2'\./)
  const inCommand =
    /\b(pcc (?:trust|run|start|gates|agents sessions)|git (?:branch|switch|add|worktree remove)|chmod \S+)( --?[\w-]+)* \$\{(?:\w+\.)?(project|path|file|\w*[dD]irectory|top|target|branch|checkedOutIn|configFile)\}/
  const unquoted = readTree(ROOT, ['src']).flatMap(({ path, text }) => {
    const found = text.match(new RegExp(inCommand, 'g')) ?? []
    return found.map(command => `${path}: ${command}`)
  })
  assert.deepEqual(unquoted, [])
})

test('hints name only pages that are there after an installation, and never a path of the documentation', () => {
  const pages = new Set(globSync('*.md', { cwd: join(ROOT, 'docs') }).map(name => name.slice(0, -3)))
  const texts = readTree(ROOT, ['src']).map(({ path, text }) => ({ path, text: text.replaceAll(COMMENT, '') }))
  const named = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/\bpcc docs ([a-z][a-z-]+)/g)].map(([, page = '']) => ({ path, page })),
  )
  assert.ok(named.length > 8)
  assert.deepEqual(
    named.filter(({ page }) => !pages.has(page)),
    [],
  )
  const paths = texts.filter(({ text }) => /\bdocs\/[\w-]+\.md/.test(text)).map(({ path }) => path)
  assert.deepEqual(paths, [])
})

/** Comments are for developers, who have the whole repository. */
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm

test('no message names a route, but the one about a route that is not there', () => {
  const names = codes.filter(code =>
    /\{route\}|\b(GET|POST|PUT|PATCH|DELETE) \//.test(`${ERRORS[code].says} ${ERRORS[code].next}`),
  )
  assert.deepEqual(names, ['not_found'])
  const schema = z.strictObject({
    title: z.string().max(3),
    count: z.number(),
    kind: z.enum(['a']),
    ref: z.string().min(1),
  })
  const right = { title: 'abc', count: 1, kind: 'a', ref: 'x' }
  const wrong: unknown[] = [
    ...[null, 7, 'text', [], {}, { ...right, more: 1 }],
    ...Object.keys(right).flatMap(key => [null, 7, 'long text', ''].map(value => ({ ...right, [key]: value }))),
  ]
  const messages = wrong.flatMap(value => {
    try {
      parseRequest(schema, value, 'POST /tasks')
      return []
    } catch (error) {
      return [`${(error as AppError).message} ${(error as AppError).next}`]
    }
  })
  assert.ok(messages.length > 15)
  assert.deepEqual(
    messages.filter(text => /POST|\/tasks/.test(text)),
    [],
  )
})
