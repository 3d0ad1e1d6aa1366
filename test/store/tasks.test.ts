import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TaskScope } from '../../src/domain/task.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { NewTask } from '../../src/store/task-stores.ts'
import { filterOfScope } from '../../src/store/tasks.ts'
import { tempDir } from '../support/world.ts'
import { DATABASES } from './databases.ts'

/** What a scope with each field finds. A new field needs a row here, and a task below that it leaves out. */
const SCOPES: Record<keyof TaskScope, { scope: (whole: string) => TaskScope; finds: string[] }> = {
  project: { scope: () => ({ project: '/p' }), finds: ['plain', 'of a feature', 'whole', 'part'] },
  feature: { scope: () => ({ project: '/p', feature: 'auth' }), finds: ['of a feature'] },
  task: { scope: whole => ({ project: '/p', task: whole }), finds: ['whole', 'part'] },
}

for (const { name, open } of DATABASES) {
  for (const [field, { scope: scopeOf, finds }] of Object.entries(SCOPES)) {
    test(`${name}: every query about a scope with "${field}" finds the same tasks`, async t => {
      const store = await open(t)
      const add = (title: string, change: Partial<NewTask> = {}) =>
        insert(store, { title, session_id: null, ...change })
      await add('plain')
      await add('of a feature', { feature: 'auth' })
      const whole = await add('whole')
      await add('part', { parent_id: whole.id })
      await add('elsewhere', { project: '/other', feature: 'auth' })
      const scope = scopeOf(whole.id)
      const free = await store.transaction(tx => store.tasks.free(scope, 10, tx))
      const listed = await store.tasks.list(filterOfScope(scope))
      const first = await store.transaction(tx => store.tasks.nextFree(scope, tx))
      const titles = [free, listed].map(tasks => tasks.map(({ title }) => title))
      assert.deepEqual([...titles, first?.title], [finds, finds, finds[0]])
      assert.deepEqual(await store.tasks.counts(scope), { ready: finds.length })
    })
  }

  test(`${name}: a task is read as it was written, with an id and a position after the earlier ones`, async t => {
    const store = await open(t)
    const [first, second] = [await insert(store), await insert(store, { title: 'later', session_id: null })]
    assert.match(first.id, /^t-[0-9a-f]{6}$/)
    assert.deepEqual({ ...(await store.tasks.get(first.id)) }, { ...TASK, id: first.id, position: 1 })
    assert.deepEqual([second.position, second.session_id], [2, null])
    assert.equal(await store.tasks.get('t-nobody'), undefined)
  })

  test(`${name}: a swap changes nothing if the task has moved, or is held by another attempt`, async t => {
    const store = await open(t)
    const task = await insert(store)
    const swap = (seen: typeof task, state: 'running' | 'done') =>
      store.transaction(tx => store.tasks.swap(seen, { state, attempt: seen.attempt + 1 }, tx))
    assert.equal((await swap(task, 'running'))?.state, 'running')
    assert.equal(await swap(task, 'running'), undefined, 'its state is another by now')
    assert.equal(await swap({ ...task, state: 'running' }, 'done'), undefined, 'its attempt is another by now')
    assert.equal((await store.tasks.get(task.id))?.attempt, 1)
  })

  test(`${name}: colliding ids are drawn again`, async t => {
    const store = await open(t)
    // Among this many ids of six hex digits, some collide in 99 of 100 runs.
    const many = 13_000
    const ids = await store.transaction(async tx => {
      const drawn = new Set<string>()
      for (let index = 0; index < many; index++) drawn.add((await store.tasks.insert(TASK, tx)).id)
      return drawn
    })
    assert.equal(ids.size, many)
  })

  test(`${name}: an edge is stored once, and found from both ends`, async t => {
    const store = await open(t)
    const [a, b, c] = [await insert(store), await insert(store), await insert(store)]
    const edge = { task_id: b.id, blocker_id: a.id }
    const link = () => store.transaction(tx => store.tasks.link(edge, tx))
    assert.deepEqual([await link(), await link()], [true, false])
    assert.deepEqual(
      (await store.tasks.blockersOf([a.id, b.id, c.id])).map(found => ({ ...found })),
      [edge],
    )
    assert.deepEqual(await store.tasks.dependentsOf(a.id), [b])
    assert.deepEqual(await store.tasks.blockersOf(Array.from({ length: 2_000 }, (_, index) => `t-${index}`)), [])
  })
}

const TASK: NewTask = {
  session_id: 's-1',
  project: '/p',
  title: 'Build',
  description: 'Build\nit',
  state: 'ready',
  reason: null,
  priority: 3,
  open_blockers: 0,
  attempt: 0,
  max_retries: 3,
  created_at: 5,
  started_at: null,
  ended_at: null,
  wakes_at: null,
  result: null,
  parent_id: null,
  children: 0,
  children_open: 0,
  children_failed: 0,
  children_done: 0,
  feature: null,
  type: 'task',
  retries: 0,
  acceptance: '',
  paths: '',
  alias: null,
  verification: null,
  lease_owner: null,
  run_id: null,
  budget: null,
  model: null,
  labels: '',
}

function insert(store: Store, change: Partial<NewTask> = {}) {
  return store.transaction(tx => store.tasks.insert({ ...TASK, ...change }, tx))
}

const BEGUN = `select * from tasks where session_id = ? and state in ('running', 'verifying', 'merging', 'waiting')`

test('the tasks of a session are found without scanning others, and a task without a session is in no session index', async t => {
  const file = join(tempDir(t), 'store.db')
  await (await openStore({ file })).close()
  using database = new DatabaseSync(file)
  const planOf = (query: string) => JSON.stringify(database.prepare(`explain query plan ${query}`).all('s-1'))
  for (const query of [BEGUN, 'select * from tasks where session_id = ? order by position']) {
    assert.match(planOf(query), /SEARCH tasks USING INDEX tasks_(session|at_work)/)
  }
  const indexes = database.prepare(`select name, sql from sqlite_master where type = 'index' and tbl_name = 'tasks'`)
  const ofSessions = indexes.all().filter(({ sql }) => /\(session_id/.test(String(sql)))
  assert.deepEqual(ofSessions.map(({ name }) => name).sort(), ['tasks_at_work', 'tasks_ready', 'tasks_session'])
  for (const { sql } of ofSessions) assert.match(String(sql), /session_id is not null/)
})

test('the tasks of a project are listed in order without being sorted', async t => {
  const file = join(tempDir(t), 'store.db')
  await (await openStore({ file })).close()
  using database = new DatabaseSync(file)
  const plan = database.prepare('explain query plan select * from tasks where project = ? order by position').all('/p')
  assert.match(JSON.stringify(plan), /USING INDEX tasks_listed/)
  assert.doesNotMatch(JSON.stringify(plan), /TEMP B-TREE/)
})
