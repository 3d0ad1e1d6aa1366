import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../../src/base/syntax/parse-source.ts'
import type { ParsedFile } from '../../../src/base/syntax/parsed-file.ts'
import { packSyntax, unpackSyntax } from '../../../src/knowledge/index/syntax-rows.ts'

test('the syntax of a file is the same after it was packed', () => {
  const text = `import { a, b } from './other.ts'
export class Store extends Base {
  save(): void { a(b) }
}
export function open(): Store { return new Store() }
`
  const parsed = parseSource('src/store.ts', text)
  assert.ok(parsed.definitions.length >= 3 && parsed.calls.length > 0)
  assert.deepEqual(unpackSyntax(packSyntax(parsed)), parsed)
  const twice = [1, 2].map(line => ({ name: 'a', line, inside: 'open' }))
  assert.deepEqual(unpackSyntax(packSyntax({ ...parsed, calls: twice })).calls, twice.slice(0, 1))
  const empty: ParsedFile = { language: 'text', definitions: [], imports: [], calls: [], inherits: [], chunks: [] }
  assert.deepEqual(unpackSyntax(packSyntax(empty)), empty)
})
