import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../src/base/log.ts'
import { type DiskReport, watchDisk } from '../../src/daemon/disk.ts'

const LATER_MS = 15_000

/** A disk watcher with a clock that the test moves. */
function watched(t: TestContext, busy: () => boolean) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const is: { report: DiskReport; looks: number } = { report: { state: 'ok', reason: '' }, looks: 0 }
  const said: string[] = []
  const disk = watchDisk({
    ...{ dir: '/data', minFreeMb: 1, log: silentLog, busy, prove: async () => undefined },
    held: ({ state }) => said.push(state),
    freed: () => said.push('freed'),
    look: () => {
      is.looks += 1
      return is.report
    },
  })
  t.after(() => disk[Symbol.dispose]())
  /** Moves the clock by one check, and returns how often the disk was checked. */
  const later = async () => {
    const before = is.looks
    t.mock.timers.tick(LATER_MS)
    await new Promise(resolve => setImmediate(resolve))
    return is.looks - before
  }
  return { disk, is, said, later }
}

test('the disk is looked at again and again while sessions run, and no more when they are over', async t => {
  let busy = true
  const { disk, later } = watched(t, () => busy)
  assert.equal(await later(), 0, 'before anything starts there is nothing to look after')
  assert.equal(disk.mayStart(), undefined)
  for (let looks = 0; looks < 3; looks += 1) assert.ok((await later()) > 0)
  busy = false
  await later()
  assert.equal(await later(), 0)
})

test('a full disk is looked at until there is space again, also when no session is left', async t => {
  const { disk, is, said, later } = watched(t, () => false)
  is.report = { state: 'full', reason: 'little is free' }
  assert.equal(disk.mayStart(), 'little is free')
  await later()
  await later()
  assert.deepEqual(said, ['full', 'full'])
  is.report = { state: 'ok', reason: '' }
  await later()
  assert.deepEqual(said, ['full', 'full', 'freed'])
  assert.equal(await later(), 0)
})
