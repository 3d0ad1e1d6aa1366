import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openRememberedAnswers, readRecordedRequests } from '../../src/store/offline-reads.ts'
import { openStore } from '../../src/store/open.ts'
import { APPLICATION_ID } from '../../src/store/sqlite-file.ts'
import { tempDir } from '../support/world.ts'

test('remembered answers are found without a daemon, and none without a store', async t => {
  const file = join(tempDir(t), 'db')
  using nothing = openRememberedAnswers(file)
  assert.equal(await nothing.find('/p', 'f1'), undefined)
  await using store = await openStore({ file })
  await store.answers.put(AN_ANSWER)
  using answers = openRememberedAnswers(file)
  assert.equal((await answers.find('/p', 'f1'))?.verdict, 'deny')
  assert.equal(await answers.find('/q', 'f1'), undefined)
})

test('a file of a newer pcc or of another program is refused, not read', async t => {
  for (const [code, statements] of [
    ['store_newer', 'pragma user_version = 999'],
    ['store_foreign', 'pragma application_id = 77'],
  ] as const) {
    const file = join(tempDir(t), 'db')
    await (await openStore({ file })).close()
    using database = new DatabaseSync(file)
    database.exec(statements)
    using answers = openRememberedAnswers(file)
    await assert.rejects(answers.find('/p', 'f1'), { code })
    await assert.rejects(readRecordedRequests(file, 0).next(), { code })
  }
})

test('a file from before answers were remembered has none', async t => {
  const file = join(tempDir(t), 'db')
  using database = new DatabaseSync(file)
  database.exec(`pragma application_id = ${APPLICATION_ID}; create table sessions (id)`)
  using answers = openRememberedAnswers(file)
  assert.equal(await answers.find('/p', 'f1'), undefined)
})

test('what a killed daemon left in its log is read, and the log and its file stay as they are', async t => {
  const [live, left] = [join(tempDir(t), 'db'), join(tempDir(t), 'db')]
  await using store = await openStore({ file: live })
  await store.answers.put(AN_ANSWER)
  for (const suffix of ['', '-wal']) copyFileSync(`${live}${suffix}`, `${left}${suffix}`)
  const bytes = () => ['', '-wal'].map(suffix => readFileSync(`${left}${suffix}`, 'hex'))
  const before = bytes()
  {
    using answers = openRememberedAnswers(left)
    assert.equal((await answers.find('/p', 'f1'))?.verdict, 'deny')
  }
  await setImmediate() // it is closed by then
  assert.deepEqual(bytes(), before)
})

const AN_ANSWER = {
  project: '/p',
  kind: 'permission',
  tool: 'Bash',
  normalised: 'Bash x',
  asked: 'Bash x',
  fingerprint: 'f1',
  verdict: 'deny',
  answer: null,
  by: 'human',
  answered_at: 1,
  session_id: null,
  lasting: false,
} as const
