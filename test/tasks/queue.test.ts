import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openQueue } from './a-queue.ts'

test('tasks are taken by priority, then by age, one at a time', async t => {
  const queue = await openQueue(t)
  for (const [text, priority] of [
    ['a', 0],
    ['b', 0],
    ['urgent', 10],
    ['later', -5],
  ] as const) {
    await queue.add(text, { priority })
  }
  assert.deepEqual(await queue.titles(), ['urgent', 'a', 'b', 'later'])
  const taken: string[] = []
  for (let task = await queue.claim(); task; task = await queue.claim()) {
    taken.push(task.title)
    assert.equal(task.attempt, 1)
    assert.equal(await queue.claim(), undefined)
    await queue.move(task, 'done', { result: `did ${task.title}` })
  }
  assert.deepEqual(taken, ['urgent', 'a', 'b', 'later'])
  assert.deepEqual(await queue.titles(), [])
})
