import assert from 'node:assert/strict'
import { rmSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { indexPath } from '../../../src/knowledge/index/code-index.ts'
import { readPlainFile } from '../../../src/knowledge/index/source-tree.ts'
import { commitAll } from '../../support/world.ts'
import { anIndex, indexedProject, runGit, write } from './an-index.ts'

const FILES = {
  'src/cart.ts': 'export function addToCart(item) {\n  return totals.push(item)\n}\n',
  'src/mail.ts': 'export function sendInvoice(customer) {\n  return smtp.deliver(customer)\n}\n',
  'README.md': '# A shop\n',
}

test('a search finds the file that a question is about, and says to which commit it refers', async t => {
  const { root, index } = indexedProject(t, FILES)
  const { results, stamp } = await index.search('how are invoices delivered to customers?', { freshMs: 60_000 })
  assert.equal(results[0]?.file_path, 'src/mail.ts')
  assert.match(results[0]?.chunk_text ?? '', /smtp\.deliver/)
  assert.deepEqual(stamp, { commit: runGit(root, 'rev-parse', 'HEAD').trim(), dirtyFiles: 0, isStale: false })
})

test('what changed on the disk is found by the next search: changed, new, removed and ignored files', async t => {
  const { root, index } = indexedProject(t, FILES)
  const first = await index.update()
  assert.deepEqual([first.files, first.read], [3, 3])
  write(root, 'src/cart.ts', 'export function emptyBasket() {}\n')
  write(root, 'src/new.ts', 'export function wrapGift() {}\n')
  write(root, 'src/ignored.ts', 'export function wrapGift() {}\n')
  write(root, '.gitignore', 'ignored.ts\n')
  rmSync(join(root, 'src/mail.ts'))
  const paths = async (query: string) => {
    const { results, stamp } = await index.search(query, { freshMs: 60_000 })
    assert.equal(stamp.dirtyFiles, 4)
    return results.map(({ file_path }) => file_path)
  }
  assert.deepEqual(await paths('basket'), ['src/cart.ts'])
  assert.deepEqual(await paths('wrap gift'), ['src/new.ts'])
  assert.deepEqual(await paths('invoice'), [])
})

test('an update reads only what has another content', async t => {
  const { root, index } = indexedProject(t, FILES)
  await index.update()
  write(root, 'src/cart.ts', 'export const other = 1\n')
  commitAll(root, 'another cart')
  const { read, files } = await index.update()
  assert.ok(read < files, 'a file is read again at most if it was changed in the moment of the look')
  const unchanged = await index.update()
  assert.ok(unchanged.read <= read)
})

test('the subjects of commits lead to the files that they changed', async t => {
  const { root, index } = indexedProject(t, FILES)
  write(root, 'src/mail.ts', 'export const zero = 0\n')
  commitAll(root, 'retry bounced letters')
  const { results } = await index.search('bounced letters', { freshMs: 60_000 })
  assert.deepEqual(
    results.map(({ file_path }) => file_path),
    ['src/mail.ts'],
  )
})

test('a path limits the search to a folder or a pattern', async t => {
  const { index } = indexedProject(t, { ...FILES, 'web/cart.ts': FILES['src/cart.ts'] })
  const inFolder = await index.search('add to cart', { path: 'web', freshMs: 60_000 })
  const byPattern = await index.search('add to cart', { path: '*/cart.ts' })
  assert.deepEqual([inFolder.results.length, byPattern.results.length], [1, 2])
})

test('a path is found though hundreds of files elsewhere match better', async t => {
  const many = Array.from({ length: 260 }, (_, n) => [`lib/cart${n}.ts`, 'export const cart = "cart of carts"\n'])
  const { index } = indexedProject(t, {
    ...Object.fromEntries(many),
    'web/page.ts': '// one cart\n'.padEnd(4000, 'x y z\n'),
  })
  const { results } = await index.search('cart', { path: 'web', freshMs: 60_000 })
  assert.deepEqual(
    results.map(({ file_path }) => file_path),
    ['web/page.ts'],
  )
})

test('a search does not wait longer than it is allowed to, and says that its answer is old', async t => {
  const { root, index } = indexedProject(t, FILES)
  await index.update()
  write(root, 'src/new.ts', 'export function wrapGift() {}\n')
  const { results, stamp } = await index.search('wrap gift', { freshMs: 0 })
  assert.deepEqual([results.length, stamp.isStale], [0, true])
})

test('a second process reads the same index without reading the project again', async t => {
  const { root, data, index } = indexedProject(t, FILES)
  await index.update()
  await index.update()
  const { read } = await anIndex(t, root, { data }).update()
  assert.equal(read, 0)
})

test('an index that was removed while it was in use is made again', async t => {
  const { root, data, index } = indexedProject(t, FILES)
  await index.update()
  rmSync(indexPath({ data, projectRoot: root }))
  const { results } = await index.search('invoice', { freshMs: 60_000 })
  assert.equal(results[0]?.file_path, 'src/mail.ts')
})

test('nothing outside of the project is read through a link', async t => {
  const { root, index } = indexedProject(t, { ...FILES, 'inner/config.txt': 'harmless\n' })
  const outside = indexedProject(t, { 'config.txt': 'password hunter2\n' }).root
  rmSync(join(root, 'inner'), { recursive: true })
  symlinkSync(outside, join(root, 'inner'))
  symlinkSync(join(outside, 'config.txt'), join(root, 'link.txt'))
  symlinkSync(root, join(root, 'loop'))
  const { results } = await index.search('hunter2', { freshMs: 60_000 })
  assert.deepEqual(results, [])
})

test('a file of git that an agent wrote names no file outside of the project', async t => {
  const { root } = indexedProject(t, FILES)
  const outside = indexedProject(t, { 'config.txt': 'password hunter2\n' }).root
  for (const path of [
    join(outside, 'config.txt'),
    relative(root, join(outside, 'config.txt')),
    'src/../../x/config.txt',
  ])
    assert.equal(readPlainFile(root, path), undefined, path)
  assert.match(readPlainFile(root, 'src/mail.ts')?.content?.toString() ?? '', /Invoice/)
})
