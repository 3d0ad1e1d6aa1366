import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { TaskView, taskListDocument } from '../../src/domain/task.ts'
import { cleanLine } from '../../src/domain/task-requests.ts'
import { openTasks } from '../../src/tasks/tasks.ts'
import { DATABASES } from '../store/databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: the database makes of a task what the API shows of it, whatever stands in it`, async t => {
    const store = await open(t)
    const tasks = openTasks({ store, clock: systemClock })
    const project = '/quote"d\\path'
    const odd = 'a "quoted" \\n back\\slash, 日本語 🎉 \u2028 and\ttabs'
    const criteria = ['npm test passes', '["a\\\\n"]', odd]
    const [first, second] = await store.transaction(async tx => {
      const plain = { session_id: null, project, text: '' }
      const first = await tasks.submit({ ...plain, title: 'plain' }, tx)
      const second = await tasks.submit({ ...plain, title: odd, text: `${odd}\n\n${odd}`, after: [first.id] }, tx)
      await tasks.submit(
        {
          ...{ ...plain, title: 'all of it', after: [second.id, first.id], feature: 'f-ü', type: 'chore' },
          ...{ labels: ['one', 'two:ü', 'a/b.c'], acceptance: criteria, priority: -3, paths: ['a b', 'ü"x'] },
          ...{ budget: { cost_usd: 0.1, turns: 12 }, model: 'opus', max_retries: 0 },
        },
        tx,
      )
      await tasks.submit({ ...plain, title: 'a part', parent: first.id, labels: ['one'], acceptance: ['x'] }, tx)
      return [first, second]
    })
    const listed = taskListDocument(await tasks.listAsJson({ project })).toString()
    assert.equal(listed.split('\n').length, 6, 'one task on each line')
    const views = TaskView.array().parse(JSON.parse(listed).tasks)
    const empty = { after: [] as string[], labels: [] as string[], acceptance: [] as string[], paths: [] as string[] }
    const lists = [
      { ...empty, budget: null },
      { ...empty, after: [first.id], budget: null },
      {
        ...{ after: [first.id, second.id].sort(), labels: ['one', 'two:ü', 'a/b.c'], paths: ['a b', 'ü"x'] },
        ...{ acceptance: criteria.map(cleanLine), budget: { cost_usd: 0.1, turns: 12 } },
      },
      { ...empty, labels: ['one'], acceptance: ['x'], budget: null },
    ]
    const rows = await store.tasks.list({ project })
    const plainFields = Object.keys(TaskView.shape).filter(name => !['budget', ...Object.keys(empty)].includes(name))
    assert.deepEqual(
      views,
      rows.map((row, at) => ({
        ...Object.fromEntries(plainFields.map(name => [name, row[name as keyof typeof row]])),
        ...lists[at],
      })),
    )
    assert.deepEqual(await tasks.list({ project }), views)
    assert.deepEqual(await tasks.list({ ids: [second.id] }), [views[1]])
    assert.deepEqual(await tasks.list({ project, limit: 1 }), [views[0]])
    assert.equal(taskListDocument(await tasks.listAsJson({ project: '/elsewhere' })).toString(), '{"tasks":[]}')
  })
}
