import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import { openStore } from '../../src/store/open.ts'
import { SCHEMA } from '../../src/store/sqlite-file.ts'
import { tempDir } from '../support/world.ts'
import { startChild } from './child.ts'
import { note, textOf } from './databases.ts'

/** The schema of a newer program. */
const NEWER = SCHEMA + 6

test('a missing directory and the database files are created for their owner alone', async t => {
  const dir = join(tempDir(t), 'a', 'b')
  await using store = await openStore({ file: join(dir, 'store.db') })
  await store.append([note('x')])
  for (const made of [dir, join(dir, '..')]) assert.equal(modeOf(made), 0o700)
  const files = readdirSync(dir)
  assert.ok(files.includes('store.db') && files.includes('store.db-wal'), files.join())
  for (const file of files) assert.equal(modeOf(join(dir, file)), 0o600, file)
})

test('an existing directory keeps its permissions', async t => {
  const dir = tempDir(t)
  chmodSync(dir, 0o755)
  await using store = await openStore({ file: join(dir, 'store.db') })
  assert.equal(store.schema, SCHEMA)
  assert.equal(modeOf(dir), 0o755)
})

test('stored rows are still there after closing and opening again', async t => {
  const file = await storeFile(t)
  await using store = await openStore({ file })
  assert.deepEqual((await store.events({})).map(textOf), ['kept'])
})

test('an empty file is a new database', async t => {
  const file = join(tempDir(t), 'store.db')
  writeFileSync(file, '')
  await using store = await openStore({ file })
  assert.equal((await store.append([note('x')]))[0]?.id, 1)
})

test('a new database that another process is just setting up is waited for', async t => {
  const file = join(tempDir(t), 'store.db')
  const other = new DatabaseSync(file)
  other.exec('begin immediate')
  const opening = openStore({ file })
  setTimeout(() => other.close(), 30)
  await using store = await opening
  assert.equal(store.schema, SCHEMA)
})

test('a database newer than the program is refused and left byte for byte as it was', async t => {
  const file = await storeFile(t)
  withRaw(file, `pragma user_version = ${NEWER}`)
  const before = bytesAround(file)
  const error = await openStore({ file }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof AppError)
  assert.deepEqual(
    [error.code, error.exit, error.detail['found'], error.detail['known']],
    ['store_newer', 5, NEWER, SCHEMA],
  )
  assert.deepEqual(bytesAround(file), before, 'no file changed, none was added')
})

test('a newer database whose program was killed is refused too, although only its log shows the version', async t => {
  const file = await storeFile(t)
  const child = startChild(t, new URL('./children/raise-schema.ts', import.meta.url), file, String(NEWER))
  assert.equal((await child.lines.next()).value, 'raised')
  child.process.kill('SIGKILL')
  await child.ended
  assert.equal(readFileSync(file).readInt32BE(60), SCHEMA, 'the file itself still has the old number')
  const { [`${basename(file)}-shm`]: _index, ...before } = bytesAround(file)
  await assert.rejects(openStore({ file }), { code: 'store_newer' })
  const { [`${basename(file)}-shm`]: _again, ...after } = bytesAround(file)
  assert.deepEqual(after, before, 'neither the file nor its log changed')
})

test('a newer database that its program is using is refused and its program is not disturbed', async t => {
  const file = await storeFile(t)
  const child = startChild(t, new URL('./children/raise-schema.ts', import.meta.url), file, String(NEWER))
  assert.equal((await child.lines.next()).value, 'raised')
  await assert.rejects(openStore({ file }), { code: 'store_newer' })
  child.process.stdin?.end('go on')
  assert.equal((await child.lines.next()).value, 'wrote')
  assert.equal(await child.ended, '0')
})

test('a file that is not a database is refused with its name and left as it was', async t => {
  for (const content of ['[sessions]\nmax = 3\n', 'SQLite format 2', Buffer.alloc(8192, 7), Buffer.alloc(1)]) {
    const file = join(tempDir(t), 'store.db')
    writeFileSync(file, content)
    const before = bytesAround(file)
    await assert.rejects(openStore({ file }), (error: AppError) => {
      assert.equal(error.code, 'store_foreign')
      assert.ok(error.message.includes(file) && error.message.includes('not a SQLite database'), error.message)
      return true
    })
    assert.deepEqual(bytesAround(file), before)
  }
})

test('a database of another program is refused and left as it was', async t => {
  const strangers = [
    'pragma application_id = 77; create table notes (x)',
    'create table notes (x); insert into notes values (1)',
  ]
  for (const statements of strangers) {
    const file = join(tempDir(t), 'store.db')
    withRaw(file, statements)
    const before = bytesAround(file)
    await assert.rejects(openStore({ file }), { code: 'store_foreign', message: /belongs to another program/ })
    assert.deepEqual(bytesAround(file), before)
  }
})

test('a path that cannot hold a database is refused with the reason', async t => {
  const dir = tempDir(t)
  writeFileSync(join(dir, 'plain'), 'x')
  mkdirSync(join(dir, 'folder.db'))
  for (const file of [join(dir, 'plain', 'store.db'), join(dir, 'folder.db')]) {
    await assert.rejects(openStore({ file }), (error: AppError) => {
      assert.equal(error.code, 'store_unusable')
      assert.ok(error.message.includes(file), error.message)
      return true
    })
  }
})

test('a database with an intact header and truncated content is reported as damaged', async t => {
  const file = await storeFile(t)
  writeFileSync(file, readFileSync(file).subarray(0, 4096))
  await assert.rejects(
    async () => {
      await using store = await openStore({ file })
      await store.events({})
    },
    { code: 'store_damaged' },
  )
})

/** A database of ours with one event, closed. */
async function storeFile(t: TestContext): Promise<string> {
  const file = join(tempDir(t), 'store.db')
  await using store = await openStore({ file })
  await store.append([note('kept')])
  return file
}

function withRaw(file: string, statements: string): void {
  const raw = new DatabaseSync(file)
  raw.exec(statements)
  raw.close()
}

function bytesAround(file: string): Record<string, string> {
  const dir = join(file, '..')
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(dir, name)))
      .digest('hex')
  return Object.fromEntries(readdirSync(dir).map(name => [name, hash(name)]))
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}
