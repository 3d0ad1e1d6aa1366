import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EventBody } from '../../../src/domain/event.ts'
import { noticesOf } from '../../../src/human/notify/notice-of.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'

/** What is told of a run that ends so. */
async function toldOf(t: TestContext, body: EventBody<'run.ended'>) {
  const store = await openStore({ file: `${tempDir(t)}/db` })
  t.after(() => store.close())
  await store.transaction(tx =>
    store.runs.insert(
      {
        ...{ id: 'r-aaaaaa', project: '/nowhere/shop', target: { kind: 'feature', name: 'checkout' }, options: {} },
        ...{ state: 'ended', outcome: body.outcome, reason: body.reason, gave_up: null, stopping: false },
        ...{ iterations: 3, created_at: 1, ended_at: 2 },
      },
      tx,
    ),
  )
  const [event] = await store.append([{ actor: 'daemon', subject: 'r-aaaaaa', kind: 'run.ended', body }])
  assert.ok(event)
  return (await noticesOf(event, { store, hidden: [] })).map(({ kind, title, text }) => ({ kind, title, text }))
}

test('the end of a run is told once, with how its tasks stand', async t => {
  const tasks = { done: 3, cancelled: 1 }
  assert.deepEqual(await toldOf(t, { outcome: 'complete', reason: 'every task is done', tasks, unverified: 3 }), [
    {
      kind: 'complete',
      title: 'The run of checkout in shop is complete',
      text: 'every task is done\n3 done (unverified)',
    },
  ])
})

test('one that could not do everything is told as an error, one that a person interrupted not at all', async t => {
  const tasks = { done: 2, failed: 1, blocked: 4 }
  assert.deepEqual(await toldOf(t, { outcome: 'failure', reason: '1 task failed', tasks, unverified: 1 }), [
    {
      kind: 'error',
      title: 'The run of checkout in shop failed',
      text: '1 task failed\n2 done (1 unverified), 1 failed, 4 left',
    },
  ])
  assert.deepEqual(await toldOf(t, { outcome: 'interrupted', reason: 'stopped by a person' }), [])
})
