import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { openOnce } from '../../../src/daemon/api/idempotency.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/world.ts'

const REQUEST = { caller: 'ci', key: 'k', route: 'POST /tasks', body: { title: 'x' } }
const DAY = 24 * 3_600_000

test('what a daemon did not finish is never done a second time, and a reply is kept for a day and over a restart', async t => {
  const file = join(tempDir(t), 'pcc.db')
  let now = 1_000_000
  let done = 0
  const work = async () => ({ status: 201, json: `{"n":${++done}}` })
  {
    await using store = await openStore({ file })
    const once = openOnce(store, () => now)
    assert.deepEqual(await once.run(REQUEST, work), { status: 201, json: '{"n":1}', isRepeated: false })
    const dying = once.run({ ...REQUEST, key: 'cut' }, () => Promise.reject(new Error('the daemon dies')))
    await assert.rejects(dying, /dies/)
    const refused = once.run({ ...REQUEST, key: 'no' }, () => Promise.reject(new AppError('not_found', { route: '' })))
    await assert.rejects(refused, { code: 'not_found' })
  }
  await using store = await openStore({ file })
  const once = openOnce(store, () => now)
  assert.deepEqual(await once.run(REQUEST, work), { status: 201, json: '{"n":1}', isRepeated: true })
  await assert.rejects(once.run({ ...REQUEST, key: 'cut' }, work), { code: 'reply_unknown' })
  await assert.rejects(once.run({ ...REQUEST, body: {} }, work), { code: 'reply_of_another' })
  await assert.rejects(once.run({ ...REQUEST, route: 'POST /runs' }, work), { code: 'reply_of_another' })
  assert.equal((await once.run({ ...REQUEST, key: 'no' }, work)).json, '{"n":2}')
  now += DAY + 3_600_001
  assert.equal((await once.run(REQUEST, work)).json, '{"n":3}', 'a key may be used again after a day')
})

test('requests at the same time wait for the first one and get its reply; what it refuses, it refuses for all', async t => {
  const store = await openStore({ file: join(tempDir(t), 'pcc.db') })
  t.after(() => store.close())
  const once = openOnce(store)
  const gate = Promise.withResolvers<void>()
  let done = 0
  const work = async () => {
    done += 1
    await gate.promise
    return { status: 201, json: '{"id":"t-1"}' }
  }
  const replies = [once.run(REQUEST, work)]
  await store.apiReplies.get('ci', 'k') // the first one is noted, and at work
  for (let more = 0; more < 5; more++) replies.push(once.run(REQUEST, work))
  await assert.rejects(once.run({ ...REQUEST, body: {} }, work), { code: 'reply_of_another' })
  const others = await Promise.all([
    once.run({ ...REQUEST, caller: 'else' }, async () => ({ status: 201, json: '{}' })),
  ])
  assert.equal(others[0]?.isRepeated, false, 'another caller waits for nobody')
  gate.resolve()
  const [first, ...rest] = await Promise.all(replies)
  assert.deepEqual([done, first?.isRepeated], [1, false])
  for (const reply of rest) assert.deepEqual(reply, { status: 201, json: '{"id":"t-1"}', isRepeated: true })
  const refuse = async () => {
    throw new AppError('task_not_there', { ref: 't-1' })
  }
  const refused = await Promise.allSettled([1, 2].map(() => once.run({ ...REQUEST, key: 'other' }, refuse)))
  assert.deepEqual(
    refused.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal((await once.run({ ...REQUEST, key: 'other' }, work)).isRepeated, false)
})
