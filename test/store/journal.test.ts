import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { Store } from '../../src/store/store.ts'
import { type Kept, keepAttempt, keepRun } from './an-attempt.ts'
import { DATABASES } from './databases.ts'

for (const { name, open } of DATABASES) {
  const opened = async (t: TestContext) => {
    const store = await open(t)
    await keepRun(store, 'r-1')
    await keepRun(store, 'r-2')
    await keepRun(store, 'r-9', '/other')
    return store
  }
  const ids = async (store: Store, query: object) =>
    (await store.journal.entries({ limit: 10, ...query })).map(({ task_id }) => task_id)
  const words = (need: 'all' | 'any', ...list: string[]) => ({ words: { list, need } })

  test(`${name}: an entry lists its agents in order`, async t => {
    const store = await opened(t)
    const left = { choice: { kind: 'claude' as const, name: 'claude' }, account: null, vendor_id: 'v-1', model: null }
    const shut = { ...left, choice: { kind: 'gemini' as const, name: 'gemini' }, vendor_id: null } // it never began
    const resting = [left, shut].map(one => ({ ...one, left_at: 2_000, until: null, why: 'limit' as const }))
    const handed = { resting, broken: [], at: 2_000, from: 'claude', why: 'limit' as const, cost_usd: 0 }
    const row = { id: 's-t-1-1', name: 'one', project: '/p', task: 't', agent: 'codex' }
    await store.transaction(tx => store.sessions.insert({ ...row, options: { project: '/p', task: 't', handed } }, tx))
    await keepAttempt(store, { task: 't-1' })
    const [entry] = await store.journal.entries({ limit: 10 })
    assert.deepEqual(entry?.agents, ['claude', 'codex'])
  })

  test(`${name}: an attempt is in the journal from the moment it ends, with all its details`, async t => {
    const store = await opened(t)
    await keepAttempt(store, { task: 't-1', outcome: null })
    assert.deepEqual(await store.journal.entries({ limit: 10 }), [])
    await store.transaction(tx =>
      store.runs.end(
        { task_id: 't-1', number: 1 },
        {
          ...{
            outcome: 'done',
            reason: null,
            cost_usd: 0.25,
            ended_at: 4_000,
            title: 'Build the cart',
            feature: 'shop',
          },
          ...{ notes: 'Totals are cents.', files: '["src/cart.ts"]', files_more: 2 },
        },
        tx,
      ),
    )
    assert.deepEqual(await store.journal.entries({ limit: 10 }), [
      {
        ...{ run_id: 'r-1', project: '/p', iteration: 1, task_id: 't-1', number: 1, title: 'Build the cart' },
        ...{
          feature: 'shop',
          session_id: 's-t-1-1',
          outcome: 'done',
          reason: null,
          model: 'sonnet',
          duration_ms: 3_000,
        },
        ...{ agents: [], cost_usd: 0.25, files: ['src/cart.ts'], files_more: 2, notes: 'Totals are cents.' },
        ...{ started_at: 1_000, ended_at: 4_000, rank: 0 },
      },
    ])
    assert.deepEqual(await ids(store, words('all', 'cents')), ['t-1'], 'its words are found at once')
  })

  test(`${name}: the newest entry comes first, and entries are filtered by run, task, project and time`, async t => {
    const store = await opened(t)
    const kept: Kept[] = [
      { task: 't-1', at: 10 },
      { task: 't-2', at: 20 },
      { task: 't-3', at: 30, run: 'r-2' },
      { task: 't-4', at: 40, run: 'r-9' },
    ]
    for (const each of kept) await keepAttempt(store, each)
    assert.deepEqual(await ids(store, {}), ['t-4', 't-3', 't-2', 't-1'])
    assert.deepEqual(await ids(store, { limit: 2 }), ['t-4', 't-3'])
    assert.deepEqual(await ids(store, { project: '/p' }), ['t-3', 't-2', 't-1'])
    assert.deepEqual(await ids(store, { run: 'r-1' }), ['t-2', 't-1'])
    assert.deepEqual(await ids(store, { task: 't-2' }), ['t-2'])
    assert.deepEqual(await ids(store, { since: 20 }), ['t-4', 't-3', 't-2'])
    assert.equal(await store.journal.count({ project: '/p' }), 3)
  })

  test(`${name}: words are found in title, notes, reason and files, as beginnings and in any form, the best first`, async t => {
    const store = await opened(t)
    await keepAttempt(store, { task: 't-1', title: 'Write the migration', notes: 'Indexes come last.' })
    await keepAttempt(store, { task: 't-2', title: 'Paint', reason: 'the migration of the database failed' })
    await keepAttempt(store, { task: 't-3', title: 'Sing', files: ['src/store/migrations/0007-songs.ts'] })
    for (const task of ['t-4', 't-5', 't-6']) await keepAttempt(store, { task, title: 'Nothing of the kind' })
    assert.deepEqual(new Set(await ids(store, words('any', 'migrations'))), new Set(['t-1', 't-2', 't-3']))
    assert.deepEqual(await ids(store, words('all', 'migration', 'database')), ['t-2'])
    assert.deepEqual(await ids(store, words('all', 'song')), ['t-3'])
    assert.equal((await ids(store, words('any', 'migration', 'indexes')))[0], 't-1')
    assert.equal(await store.journal.count({ project: '/p', ...words('any', 'migration') }), 3)
    assert.deepEqual(await ids(store, words('all')), [], 'no words find nothing')
    assert.equal(await store.journal.count({ project: '/p', ...words('all') }), 0)
  })

  test(`${name}: typed words are never taken for operators`, async t => {
    const store = await opened(t)
    await keepAttempt(store, { task: 't-1', title: 'Rock AND roll' })
    for (const word of ['"', '*', 'NEAR(', 'title:x', '-', "'", 'a"b', '\\', '%', '(', ')', '^rock', '日本'])
      await ids(store, words('all', word, 'OR', 'NOT'))
    assert.deepEqual(await ids(store, words('all', 'AND', 'roll')), ['t-1'])
  })

  test(`${name}: an attempt whose transaction is rolled back leaves no words in the index`, async t => {
    const store = await opened(t)
    await keepAttempt(store, { task: 't-1', outcome: null })
    const lost = store.transaction(async tx => {
      await store.runs.end({ task_id: 't-1', number: 1 }, { outcome: 'done', ended_at: 2, notes: 'a ghost' }, tx)
      await sql`select nothing from nowhere`.execute(tx.db)
    })
    await assert.rejects(lost)
    assert.deepEqual(await ids(store, words('any', 'ghost')), [])
  })
}
