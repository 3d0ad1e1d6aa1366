import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import type { FeatureRow } from '../../src/store/tables.ts'
import { openTasks } from '../../src/tasks/tasks.ts'
import { DATABASES } from './databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: a feature is read as it was written, by its id or by its project and name`, async t => {
    const store = await open(t)
    await insert(store, { id: 'f-1' })
    await insert(store, { id: 'f-2', project: '/q' })
    assert.deepEqual(await store.features.get('f-1'), { ...FEATURE, id: 'f-1' })
    assert.equal((await store.features.named('/q', FEATURE.name))?.id, 'f-2')
    assert.equal(await store.features.named('/q', 'other'), undefined)
    await store.features.update('f-1', { draft: [], phase: 'ready' })
    assert.deepEqual(await store.features.get('f-1'), { ...FEATURE, id: 'f-1', draft: [], phase: 'ready' })
    assert.equal((await store.features.get('f-2'))?.phase, FEATURE.phase)
  })

  test(`${name}: features are listed newest first, those of one project or those that are not ready where asked`, async t => {
    const store = await open(t)
    await insert(store, { id: 'f-1', created_at: 1 })
    await insert(store, { id: 'f-2', created_at: 3, project: '/q' })
    await insert(store, { id: 'f-3', created_at: 2, phase: 'ready', name: 'done' })
    const ids = async (filter?: Parameters<Store['features']['list']>[0]) =>
      (await store.features.list(filter)).map(({ id }) => id)
    assert.deepEqual(await ids(), ['f-2', 'f-3', 'f-1'])
    assert.deepEqual(await ids({ project: '/p' }), ['f-3', 'f-1'])
    assert.deepEqual(await ids({ open: true }), ['f-2', 'f-1'])
    assert.deepEqual(await ids({ project: '/p', open: true }), ['f-1'])
  })

  test(`${name}: a change in a transaction that fails is undone, and a removal takes one feature`, async t => {
    const store = await open(t)
    await insert(store, { id: 'f-1' })
    await insert(store, { id: 'f-2', name: 'other' })
    const failing = store.transaction(async tx => {
      await store.features.update('f-1', { phase: 'ready' }, tx)
      await store.features.remove('f-2', tx)
      throw new Error('no')
    })
    await assert.rejects(failing, { message: 'no' })
    assert.equal((await store.features.get('f-1'))?.phase, FEATURE.phase)
    await store.transaction(tx => store.features.remove('f-1', tx))
    assert.deepEqual(
      (await store.features.list()).map(({ id }) => id),
      ['f-2'],
    )
  })

  test(`${name}: the features named by the tasks of a project are found, each once`, async t => {
    const store = await open(t)
    const tasks = openTasks({ store, clock: { now: () => 1 } })
    const add = (project: string, feature?: string) =>
      store.transaction(tx => tasks.submit({ session_id: null, project, text: '', title: 'it', feature }, tx))
    await add('/p', 'login')
    await add('/p', 'login')
    await add('/p', 'search')
    await add('/p')
    await add('/q', 'paint')
    assert.deepEqual((await store.features.inTasks('/p')).sort(), ['login', 'search'])
  })
}

const FEATURE: Omit<FeatureRow, 'id'> = {
  project: '/p',
  name: 'login',
  phase: 'plan',
  until: 'tasks',
  session_id: 's-1',
  source: 'a page',
  options: { model: 'opus' },
  draft: [{ id: 't-000001', title: 'Dig' }],
  problem: null,
  created_at: 1,
  updated_at: 2,
}

function insert(store: Store, changes: Partial<FeatureRow> & { id: string }): Promise<void> {
  return store.transaction(tx => store.features.insert({ ...FEATURE, ...changes }, tx))
}
