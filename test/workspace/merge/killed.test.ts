import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MERGE_POINTS, openKillFixture, roundOf } from './kill-rounds.ts'

// PCC_KILL_ROUNDS=100 runs as many rounds, every second one at a random moment: `npm run chaos:merges`.
const rounds = Number(process.env['PCC_KILL_ROUNDS'] ?? 0)

test('killed at any of its steps, a merge loses no commit and lands once', async t => {
  const { round, deaths } = await openKillFixture(t)
  for (const number of MERGE_POINTS.keys()) await round(roundOf(number * 2, 0))
  assert.equal(deaths(), MERGE_POINTS.length, 'it came to every step')
})

test('killed at moments by chance, alone or with every git it had started, a merge loses no commit and lands once', async t => {
  const { round, deaths } = await openKillFixture(t)
  await round({ death: { afterMs: 500, who: 'machine' }, strategy: 'rebase', batch: 3 })
  for (let number = 0; number < rounds; number += 1) {
    const chosen = roundOf(number, Math.random())
    await round(chosen).catch(error => {
      throw new Error(`round ${number}: ${JSON.stringify(chosen)}`, { cause: error })
    })
  }
  t.diagnostic(`${rounds + 1} rounds, ${deaths()} deaths, 0 losses`)
})
