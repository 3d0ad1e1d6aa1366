import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import { MERGE_STATES, OPEN_MERGES } from '../../src/domain/merge.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'

const INSERT = `insert into tasks (id, project, title, description, state, priority, open_blockers, attempt, created_at, position)
  values (?, ?, 't', '', ?, 0, 0, 0, ?, ?)`
const STATES = ['blocked', 'ready', 'running', 'done', 'failed']

const change = fc.record({
  how: fc.constantFrom('insert', 'insert', 'update', 'update', 'delete', 'rollback'),
  id: fc.nat(12),
  state: fc.constantFrom(...STATES),
})

test('the numbers of rows are those that counting gives, whatever was inserted, changed, deleted and rolled back', async t => {
  const file = join(tempDir(t), 'pcc.db')
  const store = await openStore({ file })
  t.after(() => store.close())
  using db = new DatabaseSync(file)
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 40 }), async changes => {
      db.exec('delete from tasks')
      let position = 0
      for (const { how, id, state } of changes) {
        const name = `t-${id}`
        const isThere = db.prepare('select 1 from tasks where id = ?').get(name) !== undefined
        db.exec('begin')
        if (how === 'update') db.prepare('update tasks set state = ?, reason = ? where id = ?').run(state, 'x', name)
        else if (how === 'delete') db.prepare('delete from tasks where id = ?').run(name)
        else if (!isThere) db.prepare(INSERT).run(name, '/p', state, 1, ++position)
        db.exec(how === 'rollback' ? 'rollback' : 'commit')
      }
      const rows = db.prepare('select state, count(*) as n from tasks group by state').all()
      const counted = Object.fromEntries(rows.map(({ state, n }) => [String(state), Number(n)]))
      assert.deepEqual({ ...(await store.figures.read()).tasks }, counted)
    }),
    { numRuns: 25 },
  )
})

test('a merge is counted in each state that is not over, and in no other', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'pcc.db') })
  const of = {
    attempt: 1,
    project: '/p',
    repository: '/p/.git',
    target: 'main',
    strategy: 'rebase' as const,
    reason: null,
  }
  const none = { base: null, head: null, result: null, batch: null, as_pull_request: 0, rounds: 0, cleaned_at: null }
  for (const [at, state] of MERGE_STATES.entries()) {
    const row = { ...of, ...none, task_id: `t-${at}`, branch: `b-${at}`, state, created_at: 1, updated_at: 1 }
    await store.transaction(tx => store.merges.insert(row, tx))
  }
  assert.equal(
    (await store.figures.read()).merging,
    OPEN_MERGES.length,
    'the index of open merges names those that are over',
  )
})

test('the head of a queue is the task that is taken next in its project', async t => {
  const file = join(tempDir(t), 'pcc.db')
  const store = await openStore({ file })
  t.after(() => store.close())
  using db = new DatabaseSync(file)
  const insert = (id: string, project: string, state: string, at: number) =>
    db.prepare(INSERT).run(id, project, state, at, at)
  insert('t-1', '/a', 'done', 1)
  insert('t-2', '/a', 'ready', 2)
  insert('t-3', '/a', 'ready', 3)
  insert('t-4', '/b', 'blocked', 4)
  insert('t-5', '/c', 'ready', 5)
  db.exec("update tasks set priority = 9 where id = 't-3'")
  assert.deepEqual((await store.figures.read()).heads, [3, 5])
})
