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
