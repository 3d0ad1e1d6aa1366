import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as z from 'zod'
import { apiDocument, apiPage } from '../../scripts/api-page.ts'
import { API_ROUTES } from '../../src/domain/api-v1/routes.ts'
import { ROOT, readTree } from './source-tree.ts'

test('docs/api.md and docs/openapi.json are what the routes say; npm run docs writes them', () => {
  for (const [file, expected] of Object.entries({ 'docs/api.md': apiPage(), 'docs/openapi.json': apiDocument() }))
    assert.ok(readFileSync(join(ROOT, file), 'utf8') === expected, `${file} is stale; run: npm run docs`)
})

test('every create of the API takes an Idempotency-Key, nobody who only reads changes anything, and paths have their parameters', () => {
  for (const [name, route] of Object.entries(API_ROUTES)) {
    const { method, path, scope } = route
    const readOnly = 'readOnly' in route
    assert.equal(
      'creates' in route,
      method === 'POST' && !readOnly,
      `${name}: every POST says whether it creates something`,
    )
    if (/^(create|start|import|note|addTo)/.test(name)) assert.ok('creates' in route && route.creates, name)
    if ('body' in route && longestText(route.body) * 6 > 1_000_000)
      assert.ok('maxBytes' in route, `${name}: a body with a long text needs maxBytes: LONG_TEXT_BYTES`)
    if (scope === 'read') assert.ok(method === 'GET' || readOnly, `${name} changes something`)
    if (method === 'GET') assert.equal(scope, 'read', name)
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    assert.deepEqual('params' in route ? Object.keys(route.params.shape) : [], named, name)
  }
})

test('a request of the API names the fields that it takes, so that a new field of the terminal is not open to every key', () => {
  const files = readTree(ROOT, ['src/domain/api-v1'])
  assert.ok(files.length > 3)
  for (const { path } of files) {
    const takesAllBut = /\.omit\(/.test(readFileSync(join(ROOT, path), 'utf8'))
    assert.ok(!takesAllBut, `${path} takes whatever it does not leave out: name what it takes with pick`)
  }
})

/** The most characters that a text of a body may have; JSON may write each with six. */
function longestText(body: z.ZodType): number {
  const schema = JSON.stringify(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }))
  return Math.max(0, ...[...schema.matchAll(/"maxLength":(\d+)/g)].map(([, length]) => Number(length)))
}
