import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { openQuota } from '../../src/agents/limits/quota.ts'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { silentLog } from '../../src/base/log.ts'
import { announceReports } from '../../src/daemon/notifications.ts'
import { defaultValues, nestValues } from '../../src/domain/config/settings.ts'
import type { EventOf } from '../../src/domain/event.ts'
import { tempDir } from '../support/world.ts'
import { aNight, MINUTE } from './a-night.ts'

async function mornings(t: TestContext, settings: string) {
  const { store, since, until } = await aNight(t)
  const home = tempDir(t)
  mkdirSync(home, { recursive: true })
  const env = { PCC_HOME: home }
  const paths = appPathsFor({ env })
  const set = (text: string) => writeFileSync(paths.configFile, `version = 1\n${text}`)
  set(settings)
  const time = { now: until - 60 * MINUTE }
  const quota = openQuota({
    store,
    clock: { now: () => time.now },
    settings: async () => nestValues(defaultValues()).quota,
  })
  /** A daemon that was just started looks, and goes. */
  const look = async (at: number, begun = until - 600 * MINUTE) => {
    time.now = at
    const world = { store, paths, log: silentLog, quota }
    const alarm = announceReports(world, { env, since: begun, now: () => time.now })
    await alarm.looked()
    await alarm.close()
  }
  /** One that goes on, looking when it is told to. */
  const lookOn = (begun: number) => {
    const alarm = announceReports({ store, paths, log: silentLog, quota }, { env, since: begun, now: () => time.now })
    t.after(() => alarm.close())
    return async (at: number) => {
      await alarm.looked()
      time.now = at
      alarm.poke()
      await alarm.looked()
    }
  }
  const made = async () => (await store.events({ kinds: ['report.made'] })) as EventOf<'report.made'>[]
  return { since, until, look, lookOn, made, set }
}

test('report.at: one report each day, once, also when the daemon came late or again; unset, none', async t => {
  const { until, look, made, set } = await mornings(t, '[report]\nat = "07:00"\n')
  await look(until - 1)
  assert.equal((await made()).length, 0)
  await look(until)
  await look(until + MINUTE)
  const [first] = await made()
  assert.deepEqual([(await made()).length, first?.body.done, first?.body.failed], [1, 2, 1])
  assert.deepEqual(first?.body.titles, ['Payment provider', 'Schema of orders', 'Cart API'])
  set('')
  await look(until + 48 * 60 * MINUTE)
  assert.equal((await made()).length, 1)
})

test('a daemon that never saw the hour before it was set waits for the next one', async t => {
  const { until, look, made } = await mornings(t, '[report]\nat = "07:00"\n')
  await look(until + 120 * MINUTE, until + 60 * MINUTE)
  assert.equal((await made()).length, 0)
})

test('report.since: from when on it tells', async t => {
  const { since, until, look, made } = await mornings(t, '[report]\nat = "07:00"\nsince = "23:00"\n')
  await look(until)
  const [{ body } = assert.fail('none was made')] = await made()
  assert.deepEqual([body.since, body.until], [since + 60 * MINUTE, until])
})

test('one that comes late still tells of its own night', async t => {
  const { since, until, look, made } = await mornings(t, '[report]\nat = "07:00"\n')
  await look(until + 16 * 60 * MINUTE)
  const [{ body } = assert.fail('none was made')] = await made()
  assert.deepEqual([body.since, body.done, body.failed], [since, 2, 1])
})

test('an hour that is set while the daemon runs is first due when it comes', async t => {
  const { until, lookOn, made, set } = await mornings(t, '')
  const looks = lookOn(until - 120 * MINUTE)
  await looks(until + 60 * MINUTE)
  set('[report]\nat = "07:00"\n')
  await looks(until + 61 * MINUTE)
  assert.equal((await made()).length, 0)
  await looks(until + 24 * 60 * MINUTE)
  assert.equal((await made()).length, 1)
})
