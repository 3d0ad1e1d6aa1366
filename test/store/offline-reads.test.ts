import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openRememberedAnswers, readRecordedRequests } from '../../src/store/offline-reads.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'

test('remembered answers are found without a daemon, and none without a store', async t => {
  const file = join(tempDir(t), 'db')
  using nothing = openRememberedAnswers(file)
  assert.equal(await nothing.find('/p', 'f1'), undefined)
  await using store = await openStore({ file })
  const of = { kind: 'permission', tool: 'Bash', normalised: 'Bash x', asked: 'Bash x', fingerprint: 'f1' } as const
  const said = { ...of, answer: null, by: 'human', answered_at: 1, session_id: null, lasting: false }
  await store.answers.put({ ...said, project: '/p', verdict: 'deny' })
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
