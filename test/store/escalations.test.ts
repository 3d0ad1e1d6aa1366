import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Kysely } from 'kysely'
import { migrate } from '../../src/store/migrate.ts'
import { MIGRATIONS } from '../../src/store/migrations/all.ts'
import { openStore } from '../../src/store/open.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { EscalationRow, Store } from '../../src/store/store.ts'
import { AN_ESCALATION } from '../support/an-escalation.ts'
import { tempDir } from '../support/world.ts'
import { DATABASES, note, textOf } from './databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: numbers are small and rise by one; a row is read as it was written`, async t => {
    const store = await open(t)
    assert.deepEqual([await add(store, {}), await add(store, { fingerprint: 'f2' })], [1, 2])
    assert.deepEqual(await store.escalations.get(1), { number: 1, ...ROW })
    assert.equal(await store.escalations.get(3), undefined)
  })

  test(`${name}: rows are listed oldest first, by session and by state, and counted`, async t => {
    const store = await open(t)
    await add(store, {})
    await add(store, { session_id: 's-2' })
    await add(store, { fingerprint: 'f2', state: 'open' })
    await store.transaction(tx =>
      store.escalations.answer(1, { verdict: 'deny', by: 'human', at: 9, from: 'denied' }, tx),
    )
    const numbers = async (filter?: Parameters<Store['escalations']['list']>[0]) =>
      (await store.escalations.list(filter)).map(({ number }) => number)
    assert.deepEqual(await numbers(), [1, 2, 3])
    assert.deepEqual(await numbers({ session: 's-1' }), [1, 3])
    assert.deepEqual(await numbers({ states: ['open', 'denied'] }), [2, 3])
    assert.deepEqual(await numbers({ session: 's-2', states: ['answered'] }), [])
    assert.equal(await store.escalations.count(['open', 'denied']), 2)
  })

  test(`${name}: of two answers the first is kept whole`, async t => {
    const store = await open(t)
    await add(store, {})
    const say = (verdict: 'allow' | 'deny', by: string, at: number) =>
      store.transaction(tx =>
        store.escalations.answer(1, { verdict, by, reason: `${by} said so`, at, from: 'denied' }, tx),
      )
    assert.deepEqual(await Promise.all([say('deny', 'ann', 5), say('allow', 'bob', 6)]), [true, false])
    const row = await store.escalations.get(1)
    assert.deepEqual(
      [row?.state, row?.verdict, row?.answered_by, row?.answered_at, row?.answer_reason],
      ['answered', 'deny', 'ann', 5, 'ann said so'],
    )
  })

  test(`${name}: the database itself refuses that the same request of one session waits twice`, async t => {
    const store = await open(t)
    await add(store, {})
    await assert.rejects(add(store, { state: 'open' }))
    await store.transaction(tx =>
      store.escalations.answer(1, { verdict: 'allow', by: 'human', at: 9, from: 'denied' }, tx),
    )
    assert.equal(await add(store, {}), 2, 'an answered one waits no more')
  })

  test(`${name}: a row whose input was damaged stays listable`, async t => {
    const store = await open(t)
    await add(store, {})
    await store.transaction(tx => tx.db.updateTable('escalations').set({ input: '{' }).execute())
    assert.deepEqual(await store.escalations.get(1), { number: 1, ...ROW, input: {} })
  })

  test(`${name}: one answer is kept per project and request, the newest`, async t => {
    const store = await open(t)
    const of = { kind: 'permission', tool: 'Bash', normalised: 'Bash x', asked: 'Bash x', fingerprint: 'f1' } as const
    const said = { ...of, answer: null, by: 'human', answered_at: 1, session_id: null, lasting: false }
    await store.answers.put({ ...said, project: '/p', verdict: 'allow' })
    await store.answers.put({ ...said, project: '/p', verdict: 'deny', by: 'ann', answered_at: 2 })
    await store.answers.put({ ...said, project: '/q', verdict: 'allow' })
    const { id, ...found } = (await store.answers.find('/p', 'f1')) ?? { id: '' }
    assert.match(id, /^a-[0-9a-f]{6}$/)
    assert.deepEqual(found, { ...said, project: '/p', verdict: 'deny', by: 'ann', answered_at: 2 })
    assert.equal((await store.answers.find('/q', 'f1'))?.verdict, 'allow')
    assert.equal(await store.answers.find('/p', 'f2'), undefined)
  })
}

test('a database of version 1 gets the new tables and keeps its rows', async t => {
  const file = join(tempDir(t), 'store.db')
  const old = await openSqlite(file, 1)
  assert.equal(await migrate(old, file, MIGRATIONS.slice(0, 1)), 1)
  await old.transaction(async tx => {
    await tx.insertInto('events').values(EVENT).execute()
    // Today's type of the table has moved on.
    const then = tx as unknown as Kysely<{ sessions: Record<string, unknown> }>
    await then.insertInto('sessions').values(SESSION).execute()
  })
  await assert.rejects(old.read.selectFrom('escalations').selectAll().execute())
  await old.close()

  await using store = await openStore({ file })
  assert.equal(store.schema, MIGRATIONS.length)
  assert.deepEqual((await store.events({})).map(textOf), ['old'])
  assert.equal((await store.sessions.resolve('s-1')).task, 'task of old')
  assert.equal(await add(store, {}), 1)
  await store.append([note('new')])
  assert.deepEqual((await store.events({})).map(textOf), ['old', 'new'])
})

test('answers and decisions of version 7 are there after the upgrade, with ids and their sessions', async t => {
  const file = join(tempDir(t), 'store.db')
  const old = await openSqlite(file, 7)
  await migrate(old, file, MIGRATIONS.slice(0, 7))
  await old.transaction(async tx => {
    const then = tx as unknown as Kysely<{ answers: Record<string, unknown>; escalations: Record<string, unknown> }>
    const answer = { tool: 'Bash', normalised: 'Bash x', verdict: 'allow', by: 'ann', answered_at: 3 }
    for (const project of ['/p', '/q'])
      await then
        .insertInto('answers')
        .values({ ...answer, project, fingerprint: 'f1' })
        .execute()
    const { dedup_key: _, priority: __, context: ___, deadline: ____, on_deadline: _____, ...row } = ROW
    const columns = { ...row, input: '{}', reasons: '[]', state: 'open' }
    await then.insertInto('escalations').values(columns).execute()
  })
  await old.close()

  await using store = await openStore({ file })
  assert.deepEqual(
    (await store.answers.list()).map(({ id, project, kind, verdict, by, lasting }) => [
      id,
      project,
      kind,
      verdict,
      by,
      lasting,
    ]),
    [
      ['a-1', '/p', 'permission', 'allow', 'ann', false],
      ['a-2', '/q', 'permission', 'allow', 'ann', false],
    ],
  )
  assert.equal((await store.answers.find('/q', 'f1'))?.asked, 'Bash x')
  const row = await store.escalations.get(1)
  assert.deepEqual([row?.priority, row?.context, row?.deadline, row?.on_deadline], [0, {}, null, 'keep_waiting'])
  assert.deepEqual(
    (await store.escalations.sessionsOf([1])).map(({ session_id }) => session_id),
    ['s-1'],
  )
})

const EVENT = {
  time: 1,
  actor: 'daemon',
  schema_version: 1,
  subject: 's-1',
  kind: 'session.noted',
  body: '{"text":"old"}',
}

/** The columns of that time. */
const SESSION = {
  id: 's-1',
  name: 'old',
  project: '/p',
  task: 'task of old',
  agent: 'claude',
  model: null,
  vendor_id: null,
  options: '{}',
  owner: null,
  state: 'ended',
  status_reason: null,
  ended_as: null,
  created_at: 1,
  started_at: null,
  ended_at: null,
  resumes_at: null,
  activity: null,
  plan: '[]',
  input_tokens: 0,
  output_tokens: 0,
  context_tokens: 0,
  context_window: 0,
  cost_usd: 0,
  turns: 0,
  tools_auto: 0,
  tools_human: 0,
  tools_denied: 0,
  questions_auto: 0,
  questions_human: 0,
  parked: null,
  account: null,
  marker: null,
  agent_pid: null,
  agent_started: null,
}

const ROW: EscalationRow = { ...AN_ESCALATION, state: 'denied' }

function add(store: Store, changes: Partial<EscalationRow>): Promise<number> {
  return store.transaction(tx => store.escalations.insert({ ...ROW, ...changes }, tx))
}
