import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { openTasks } from '../../src/tasks/tasks.ts'
import { DATABASES } from '../store/databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: the text that the database makes of a task is what the API shows of it, whatever stands in it`, async t => {
    const store = await open(t)
    const tasks = openTasks({ store, clock: systemClock })
    const project = '/quote"d\\path'
    const odd = 'a "quoted" \\n back\\slash, 日本語 🎉 \u2028 and\ttabs'
    await store.transaction(async tx => {
      const plain = { session_id: null, project, text: '' }
      const first = await tasks.submit({ ...plain, title: 'plain' }, tx)
      const second = await tasks.submit({ ...plain, title: odd, text: `${odd}\n\n${odd}`, after: [first.id] }, tx)
      await tasks.submit(
        {
          ...{ ...plain, title: 'all of it', after: [second.id, first.id], feature: 'f-ü', type: 'chore' },
          ...{ labels: ['one', 'two:ü', 'a/b.c'], acceptance: ['npm test passes', '["a\\\\n"]', odd], priority: -3 },
          ...{ budget: { cost_usd: 0.1, turns: 12 }, model: 'opus', maxRetries: 0 },
        },
        tx,
      )
      await tasks.submit({ ...plain, title: 'a part', parent: first.id, labels: ['one'], acceptance: ['x'] }, tx)
    })
    const texts = await tasks.listAsJson({ project })
    assert.equal(texts.length, 4)
    assert.deepEqual(
      texts.map(text => JSON.parse(text)),
      await tasks.select({ project }),
    )
    assert.deepEqual((await tasks.listAsJson({ project, limit: 1 })).length, 1)
    assert.deepEqual(await tasks.listAsJson({ project: '/elsewhere' }), [])
  })
}
