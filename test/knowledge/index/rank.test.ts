import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseSource } from '../../../src/base/syntax/parse-source.ts'
import type { ParseFiles } from '../../../src/knowledge/index/update.ts'
import { commitAll } from '../../support/world.ts'
import { indexedProject, write } from './an-index.ts'

const byGrammar: ParseFiles = async function* (files) {
  for await (const { path, text } of files) yield [{ path, parsed: parseSource(path, text) }]
}

async function ranking(index: ReturnType<typeof indexedProject>['index'], query: string): Promise<string[]> {
  const { results } = await index.search(query, { freshMs: 60_000 })
  return results.map(({ file_path }) => file_path)
}

test('tests, examples and generated code come after the rest, unless the query speaks of them', async t => {
  const code = 'export function mergeQueue() {\n  return queue.merge()\n}\n'
  const { index } = indexedProject(
    t,
    { 'src/queue.ts': code, 'test/queue.ts': code, 'examples/queue.ts': code, 'src/generated/queue.ts': code },
    byGrammar,
  )
  assert.equal((await ranking(index, 'queue merges'))[0], 'src/queue.ts')
  assert.equal((await ranking(index, 'test of the merge queue'))[0], 'test/queue.ts')
  assert.equal((await ranking(index, 'example of a merge queue'))[0], 'examples/queue.ts')
  assert.equal((await ranking(index, 'the generated merge queue'))[0], 'src/generated/queue.ts')
})

test('the file that defines what a query names comes before files that use it more often', async t => {
  const uses = 'openVault()\n'.repeat(8)
  const { index } = indexedProject(
    t,
    {
      'src/user-a.ts': uses,
      'src/user-b.ts': uses,
      'src/safe.ts': `export function openVault() {}\n${'// something else entirely\n'.repeat(30)}`,
      'src/door.ts': 'export function open(vault) {}\nexport const vault = open()\n',
    },
    byGrammar,
  )
  assert.equal((await ranking(index, 'openVault'))[0], 'src/safe.ts')
  assert.equal((await ranking(index, 'how to open a vault'))[0], 'src/door.ts')
  const { results } = await index.search('open_vault', { symbol: true })
  assert.deepEqual(
    results.map(({ file_path, start_line, metadata }) => [file_path, start_line, metadata.definition]),
    [['src/safe.ts', 1, 'openVault']],
  )
})

test('of two equal files the one that was changed last comes first', async t => {
  const { root, index } = indexedProject(t, { 'a.ts': 'let pump = 1\n', 'b.ts': 'let pump = 1\n' }, byGrammar)
  write(root, 'b.ts', 'let pump = 2\n')
  commitAll(root, 'another number')
  assert.deepEqual(await ranking(index, 'pump'), ['b.ts', 'a.ts'])
})

test('the history of a file follows it when it is renamed', async t => {
  const { root, index } = indexedProject(t, { 'a.ts': 'let pump = 1\nlet valve = 2\n' }, byGrammar)
  write(root, 'a.ts', 'let pump = 1\nlet valve = 3\n')
  commitAll(root, 'less noise')
  renameSync(join(root, 'a.ts'), join(root, 'b.ts'))
  commitAll(root, 'a better name')
  assert.deepEqual(await ranking(index, 'noise'), ['b.ts'])
})

test('every file is shown once before a second chunk of any', async t => {
  const long = `${'// a valve\n'.repeat(200)}\n`
  const { index } = indexedProject(t, { 'long.txt': long, 'short.txt': 'a valve\n' })
  const paths = (await index.search('valve', { top: 4, freshMs: 60_000 })).results.map(({ file_path }) => file_path)
  assert.deepEqual(new Set(paths.slice(0, 2)), new Set(['long.txt', 'short.txt']))
  assert.equal(paths.length, 4)
})
