import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openGates } from '../../../src/agents/limits/gates.ts'
import type { Limit } from '../../../src/domain/account/limit.ts'
import { openStore } from '../../../src/store/open.ts'
import { DATABASES } from '../../store/databases.ts'
import { tempDir } from '../../support/world.ts'

const LIMIT: Limit = { source: 'event', message: 'full', resetsAt: 5000, window: 'five_hour' }

for (const { name, open } of DATABASES) {
  test(`${name}: a limit closes its account for every session, and no other account`, async t => {
    const clock = { now: () => 1000 }
    const gates = openGates({ store: await open(t), clock })
    assert.deepEqual(await gates.admits('a'), { open: true })
    const gate = await gates.close('a', LIMIT)
    assert.deepEqual(await gates.admits('a'), { open: false, why: 'limit', until: 5000, gate })
    assert.deepEqual(await gates.admits('b'), { open: true })
    assert.deepEqual(await gates.list(), [gate])
    clock.now = () => 5000
    assert.deepEqual(await gates.admits('a'), { open: true })
  })

  test(`${name}: a call that gets through opens the gate, and an account without a gate gets none by it`, async t => {
    const clock = { now: () => 1000 }
    const gates = openGates({ store: await open(t), clock })
    await gates.close('a', { source: 'result', message: 'full' })
    await gates.reopen('a')
    assert.equal((await gates.of('a'))?.probes, 1, 'not while it is closed')
    clock.now = () => 1_000_000
    await gates.reopen('a')
    assert.deepEqual([(await gates.of('a'))?.closed_until, (await gates.of('a'))?.probes], [null, 0])
    await gates.reopen('b')
    assert.equal(await gates.of('b'), undefined)
  })

  test(`${name}: a trial opens what a limit has closed; the next answer starts the count of probes anew`, async t => {
    const store = await open(t)
    const gates = openGates({ store, clock: { now: () => 1000 } })
    await gates.close('a', { source: 'result', message: 'full' })
    const trial = (account: string) => store.transaction(tx => gates.openForTrial(account, tx))
    assert.deepEqual([await trial('a'), await trial('a'), await trial('b')], [true, false, false])
    assert.deepEqual(await gates.admits('a'), { open: true })
    assert.equal((await gates.of('a'))?.probes, 1)
    assert.equal(await gates.of('b'), undefined)
    await gates.reopen('a')
    assert.equal((await gates.of('a'))?.probes, 0)
  })

  test(`${name}: a hold stops one account, or every account, until it is let go`, async t => {
    const gates = openGates({ store: await open(t), clock: { now: () => 1000 } })
    await gates.hold('a', 'human')
    assert.deepEqual(await why('a'), 'held')
    assert.deepEqual(await why('b'), undefined)
    await gates.release('a')
    await gates.hold('*', 'human')
    assert.deepEqual([await why('a'), await why('b')], ['held', 'held'])
    await gates.release('*')
    assert.deepEqual([await why('a'), await why('b')], [undefined, undefined])

    async function why(account: string) {
      const admission = await gates.admits(account)
      return admission.open ? undefined : admission.why
    }
  })

  test(`${name}: a closing is part of the transaction it is given`, async t => {
    const store = await open(t)
    const gates = openGates({ store, clock: { now: () => 1000 } })
    const failing = store.transaction(async tx => {
      await gates.close('a', LIMIT, tx)
      assert.equal((await gates.admits('a', tx)).open, false, 'seen inside')
      throw new Error('later in the same transaction')
    })
    await assert.rejects(failing, /later/)
    assert.deepEqual(await gates.admits('a'), { open: true })
  })

  test(`${name}: limits that come at once leave the latest reset`, async t => {
    const gates = openGates({ store: await open(t), clock: { now: () => 1000 } })
    const resets = [3000, 9000, 5000, 7000]
    await Promise.all(resets.map(resetsAt => gates.close('a', { ...LIMIT, resetsAt })))
    assert.equal((await gates.of('a'))?.closed_until, 9000)
  })
}

test('a gate is still shut after the daemon is gone, held or closed', async t => {
  const file = join(tempDir(t), 'store.db')
  const clock = { now: () => 1000 }
  const before = await openStore({ file })
  await openGates({ store: before, clock }).close('a', LIMIT)
  await openGates({ store: before, clock }).hold('b', 'human')
  await before.close()
  await using after = await openStore({ file })
  const gates = openGates({ store: after, clock })
  assert.deepEqual(
    (await gates.list()).map(({ account, closed_until, held, held_by }) => [account, closed_until, held, held_by]),
    [
      ['a', 5000, false, null],
      ['b', null, true, 'human'],
    ],
  )
  assert.equal((await gates.admits('a')).open, false)
})
