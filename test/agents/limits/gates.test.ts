import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openGates } from '../../../src/agents/limits/gates.ts'
import { DATABASES } from '../../store/databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: a limit closes the account for every session of it, and no other`, async t => {
    const store = await open(t)
    const gates = openGates({ store, clock: { now: () => 1000 } })
    await gates.close('a', { source: 'event', message: 'full', resetsAt: 5000, window: 'five_hour' })
    const shut = await gates.admits('a')
    assert.ok(!shut.open && shut.why === 'limit')
    assert.equal(shut.until, 5000)
    assert.deepEqual(await gates.admits('b'), { open: true })
  })
}
