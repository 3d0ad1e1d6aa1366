import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { apiDocument, apiPage } from '../../scripts/api-page.ts'
import { API_ROUTES } from '../../src/domain/api-v1/routes.ts'
import { ROOT } from './source-tree.ts'

test('docs/api.md and docs/openapi.json are what the routes say; npm run docs writes them', () => {
  assert.equal(readFileSync(join(ROOT, 'docs/api.md'), 'utf8'), apiPage())
  assert.equal(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8'), apiDocument())
})

test('every create of the API takes an Idempotency-Key, nobody who only reads changes anything, and paths have their parameters', () => {
  for (const [name, route] of Object.entries(API_ROUTES)) {
    const { method, path, scope } = route
    const readOnly = 'readOnly' in route
    if (/^(create|start|import|note|addTo)/.test(name)) assert.ok('creates' in route, name)
    if (scope === 'read') assert.ok(method === 'GET' || readOnly, `${name} changes something`)
    if (method === 'GET') assert.equal(scope, 'read', name)
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    assert.deepEqual('params' in route ? Object.keys(route.params.shape) : [], named, name)
  }
})
