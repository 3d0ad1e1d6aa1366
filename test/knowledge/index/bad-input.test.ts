import assert from 'node:assert/strict'
import { closeSync, existsSync, ftruncateSync, openSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { parseSource } from '../../../src/base/syntax/parse-source.ts'
import { indexPath } from '../../../src/knowledge/index/code-index.ts'
import { INDEX_SCHEMA } from '../../../src/knowledge/index/index-file.ts'
import { type ParseFiles, splitByLines } from '../../../src/knowledge/index/update.ts'
import { removeDerivedFile } from '../../../src/store/derived-file.ts'
import { commitAll, gitProject, tempDir } from '../../support/world.ts'
import { anIndex, byLines, indexedProject, runGit, write } from './an-index.ts'

const PATIENT = { freshMs: 60_000 }

async function find(index: ReturnType<typeof anIndex>, query: string): Promise<string[]> {
  const { results } = await index.search(query, { ...PATIENT, top: 20 })
  return results.map(({ file_path }) => file_path).sort()
}

test('files in broken and other encodings are found by what can be read of them', async t => {
  const { root, index } = indexedProject(t, {})
  write(root, 'latin.txt', Buffer.from('r\xe9sum\xe9 harbour\n', 'latin1'))
  write(root, 'broken.txt', Buffer.concat([Buffer.from([0xff, 0xc3, 0x28]), Buffer.from(' lighthouse\n')]))
  write(root, 'wide.txt', Buffer.from('\ufeffanchorage\n', 'utf16le'))
  write(root, 'binary.bin2', Buffer.from([0, 1, 2, 3]))
  assert.deepEqual(await find(index, 'harbour lighthouse anchorage'), ['broken.txt', 'latin.txt', 'wide.txt'])
  assert.deepEqual(await find(index, 'binary'), ['binary.bin2'], 'a binary file is found by its name')
})

test('a file of 100 MB is found by its name and is not read', async t => {
  const { root, index } = indexedProject(t, {})
  const handle = openSync(join(root, 'huge-dump.sql'), 'w')
  ftruncateSync(handle, 100_000_000)
  closeSync(handle)
  const before = process.memoryUsage().rss
  assert.deepEqual(await find(index, 'huge dump'), ['huge-dump.sql'])
  assert.ok(process.memoryUsage().rss - before < 60_000_000)
})

test('minified, vendored and locked files do not answer for the project', async t => {
  const { index } = indexedProject(t, {
    'bundle.js': `var kangaroo=1;${'a();'.repeat(5000)}`,
    'node_modules/zoo/index.js': 'export const kangaroo = 1\n',
    'vendor/zoo.go': 'var kangaroo = 1\n',
    'package-lock.json': '{ "kangaroo": "1" }\n',
    'src/zoo.ts': 'export const kangaroo = 1\n',
  })
  assert.deepEqual(await find(index, 'kangaroo'), ['src/zoo.ts'])
  assert.deepEqual(await find(index, 'package lock'), ['package-lock.json'])
})

test('links that lead in circles are not followed, also without git', async t => {
  const root = tempDir(t)
  write(root, 'deep/walrus.txt', 'walrus\n')
  symlinkSync('..', join(root, 'deep/up'))
  symlinkSync('itself', join(root, 'itself'))
  assert.deepEqual(await find(anIndex(t, root), 'walrus'), ['deep/walrus.txt'])
})

test('empty files and files without text do not take the place of others', async t => {
  const files = { 'a.txt': '', 'b.txt': 'ibis\n', 'c.txt': '', 'd.png': 'x', 'e.txt': 'ibis too\n' }
  const parse: ParseFiles = async function* (texts) {
    for await (const { path, text } of texts) yield [{ path, parsed: parseSource(path, text) }]
  }
  const { index } = indexedProject(t, files, parse)
  const { results } = await index.search('ibis', PATIENT)
  assert.deepEqual(results.map(({ file_path, chunk_text }) => [file_path, chunk_text.trim()]).sort(), [
    ['b.txt', 'ibis'],
    ['e.txt', 'ibis too'],
  ])
})

test('a submodule is another project', async t => {
  const inner = gitProject(t, { 'seal.txt': 'seal\n' })
  const { root, index } = indexedProject(t, { 'own.txt': 'seal\n' })
  runGit(root, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', inner, 'inner')
  commitAll(root, 'with a submodule')
  assert.deepEqual(await find(index, 'seal'), ['own.txt'])
})

test('a repository without commits, and a project inside of a repository, are searched', async t => {
  const root = tempDir(t)
  runGit(root, 'init', '-q')
  write(root, 'top.txt', 'penguin\n')
  write(root, 'inner/below.txt', 'penguin\n')
  const index = anIndex(t, root)
  assert.deepEqual(await find(index, 'penguin'), ['inner/below.txt', 'top.txt'])
  assert.equal(index.stamp().commit, undefined)
  commitAll(root, 'penguins move')
  write(join(root, 'inner'), 'new.txt', 'penguin\n')
  const inner = anIndex(t, join(root, 'inner'))
  assert.deepEqual(await find(inner, 'penguin'), ['below.txt', 'new.txt'])
  assert.equal(inner.stamp().dirtyFiles, 1)
})

test('a shallow clone has as much history as it has', async t => {
  const origin = gitProject(t, { 'a.txt': 'one\n' })
  write(origin, 'a.txt', 'two\n')
  commitAll(origin, 'otters arrive')
  const root = tempDir(t)
  runGit(root, 'clone', '-q', '--depth', '1', `file://${origin}`, '.')
  assert.deepEqual(await find(anIndex(t, root), 'otters'), ['a.txt'])
})

test('names with line breaks, quotes and other signs are found', async t => {
  const names = ['two\nlines.txt', 'a "quote".txt', 'tab\there.txt', 'ünïcode.txt', '-rf.txt', ' space .txt']
  const { root, index } = indexedProject(t, Object.fromEntries(names.slice(0, 3).map(name => [name, 'puffin\n'])))
  for (const name of names.slice(3)) write(root, name, 'puffin\n')
  assert.deepEqual(await find(index, 'puffin'), names.sort())
})

test('an index of a newer pcc stays as it is, and another is made beside it', async t => {
  const { root, data, index } = indexedProject(t, { 'a.txt': 'gannet\n' })
  await index.update()
  await index[Symbol.asyncDispose]()
  const path = indexPath({ data, projectRoot: root })
  using newer = new DatabaseSync(path)
  newer.exec(`pragma user_version = ${INDEX_SCHEMA + 1}`)
  assert.deepEqual(await find(anIndex(t, root, { data }), 'gannet'), ['a.txt'])
  assert.equal(newer.prepare('pragma user_version').get()?.['user_version'], INDEX_SCHEMA + 1)
  assert.ok(existsSync(path.replace('.db', `-${INDEX_SCHEMA}.db`)))
})

test('an index of an older pcc, and a damaged one, are made again', async t => {
  for (const damage of ['older', 'damaged'] as const) {
    const { root, data, index } = indexedProject(t, { 'a.txt': 'gannet\n' })
    await index.update()
    await index[Symbol.asyncDispose]()
    const path = indexPath({ data, projectRoot: root })
    if (damage === 'damaged') writeFileSync(path, 'this is no database')
    else {
      using older = new DatabaseSync(path)
      older.exec('pragma user_version = 99; drop table files; pragma user_version = -1')
    }
    assert.deepEqual(await find(anIndex(t, root, { data }), 'gannet'), ['a.txt'], damage)
  }
})

test('a file that breaks the parser is named and found by its text, and the others are parsed', async t => {
  const parse: ParseFiles = async function* (files) {
    for await (const { path, text } of files) {
      if (path === 'lost.ts') continue
      yield [
        path === 'bad.ts' ? { path, skipped: 'the parser failed on it' } : { path, parsed: splitByLines(path, text) },
      ]
    }
  }
  const { index } = indexedProject(t, { 'bad.ts': 'heron\n', 'lost.ts': 'heron\n', 'good.ts': 'heron\n' }, parse)
  const { problems } = await index.update()
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['bad.ts', 'lost.ts'],
  )
  assert.deepEqual(await find(index, 'heron'), ['bad.ts', 'good.ts', 'lost.ts'])
})

test('queries of any size, in any script and with the signs of the query language are answered', async t => {
  const { index } = indexedProject(t, { 'a.txt': '設定ファイルを読み込む stork\n', 'b.txt': 'nothing\n' })
  assert.deepEqual(await find(index, '設定を読み込む方法'), ['a.txt'])
  assert.deepEqual(await find(index, `${'lorem ipsum dolor '.repeat(6000)}`), [])
  const words = Array.from({ length: 9000 }, (_, n) => `word${n}`)
  assert.deepEqual(await find(index, `${words.slice(0, 1000).join(' ')} stork ${words.join(' ')}`), ['a.txt'])
  for (const query of ['', '   ', '"', 'x AND (', 'NEAR(', '*', '-', "' or 1=1", '\0', '💥', '=', 'x'.repeat(100_000)])
    assert.deepEqual(await find(index, query), [], JSON.stringify(query.slice(0, 20)))
})

test('a project that changes while it is read is right after the next look', async t => {
  const { root, index } = indexedCrowd(t)
  await index.update()
  assert.deepEqual(await find(index, 'pelican'), ['file-5.txt'])
  assert.deepEqual(await find(index, 'sparrow'), [])
  assert.ok(!existsSync(join(root, 'file-6.txt')))
})

test('what was read in the moment of its change is not taken for what it was before', async t => {
  const { root, index } = indexedCrowd(t)
  await index.update()
  write(root, 'file-5.txt', 'bird 5\n')
  assert.deepEqual(await find(index, 'pelican'), [])
})

test('an index that is removed while it is written is made again by the next search', async t => {
  let isRemoved = false
  const parse: ParseFiles = async function* (files, signal) {
    for await (const outcomes of byLines(files, signal)) {
      if (!isRemoved) removeDerivedFile(indexPath({ data, projectRoot: root }))
      isRemoved = true
      yield outcomes
    }
  }
  const { root, data, index } = indexedProject(t, { 'a.txt': 'kestrel\n', 'b.txt': 'kestrel\n' }, parse)
  await index.update()
  assert.deepEqual(await find(index, 'kestrel'), ['a.txt', 'b.txt'])
  assert.ok(existsSync(indexPath({ data, projectRoot: root })))
})

/** While its first files are parsed, others of the project change and go away. */
function indexedCrowd(t: TestContext) {
  const names = Array.from({ length: 10 }, (_, n) => `file-${n}.txt`)
  let changed = false
  const parse: ParseFiles = async function* (files, signal) {
    for await (const outcomes of byLines(files, signal)) {
      if (!changed) {
        changed = true
        write(project.root, 'file-0.txt', 'quiet\n')
        write(project.root, 'file-5.txt', 'pelican\n')
        runGit(project.root, 'rm', '-q', '-f', 'file-6.txt')
      }
      yield outcomes
    }
  }
  const project = indexedProject(
    t,
    Object.fromEntries(names.map((name, n) => [name, n === 0 || n === 6 ? 'sparrow\n' : `bird ${n}\n`])),
    parse,
  )
  return project
}
