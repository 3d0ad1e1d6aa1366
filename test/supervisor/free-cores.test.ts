import assert from 'node:assert/strict'
import type { CpuInfo } from 'node:os'
import { test } from 'node:test'
import { countFreeCores } from '../../src/supervisor/compose.ts'

/** Cores that have worked and rested for so many milliseconds. */
function cores(...times: [worked: number, rested: number][]): CpuInfo[] {
  return times.map(([user, idle]) => ({ model: '', speed: 0, times: { user, idle, nice: 0, sys: 0, irq: 0 } }))
}

test('free cores are counted from what happens now, not from what happened before', async () => {
  const readings = [cores([1_000, 0], [0, 9_000]), cores([1_000, 300], [150, 9_150])]
  assert.equal(await countFreeCores(undefined, () => readings.shift() ?? []), 1.5)
  const busy = [cores([0, 9_000]), cores([300, 9_000])]
  assert.equal(await countFreeCores(undefined, () => busy.shift() ?? []), 0)
})

test('a machine that does not tell counts as busy', async () => {
  assert.equal(await countFreeCores(undefined, () => []), 0)
})
