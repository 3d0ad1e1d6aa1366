import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordQuotaHistory } from '../../src/agents/limits/quota.ts'
import type { QuotaWindow } from '../../src/domain/quota.ts'
import { DATABASES, note } from './databases.ts'

const NOW = Date.UTC(2026, 0, 20, 12)
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

function point(at: number, utilization: number): QuotaWindow {
  return { window: 'five_hour', utilization, resets_at: NOW + DAY, source: 'vendor', at }
}

for (const { name, open } of DATABASES) {
  test(`${name}: history keeps points with new values, and little more than one point per minute`, async t => {
    const store = await open(t)
    const told = async (seconds: number, utilization: number) => {
      const at = NOW + seconds * 1000
      await recordQuotaHistory({ store, clock: { now: () => at }, account: 'a', windows: [point(at, utilization)] })
    }
    for (let second = 0; second < 600; second++) await told(second, second / 1000)
    const busy = await store.quota.history({ account: 'a', window: 'five_hour', source: 'vendor', since: 0 })
    assert.ok(busy.length >= 10 && busy.length <= 22, `${busy.length} points`)
    assert.equal(busy.at(-1)?.utilization, 0.599)
    for (let minute = 11; minute <= 31; minute++) await told(minute * 60, 0.599)
    const still = await store.quota.history({ account: 'a', window: 'five_hour', source: 'vendor', since: 0 })
    assert.ok(still.length - busy.length >= 3 && still.length - busy.length <= 5, 'standing still is told now and then')
  })

  test(`${name}: after a day history is kept in steps of ten minutes, after fourteen days not at all`, async t => {
    const store = await open(t)
    await recordQuotaHistory({ store, clock: { now: () => NOW - DAY }, account: 'a', windows: [point(NOW - DAY, 0.1)] })
    for (let minute = 0; minute < 60; minute++) {
      await store.quota.keep('a', point(NOW - 20 * DAY + minute * MINUTE, 0.1))
      await store.quota.keep('a', point(NOW - 2 * DAY + minute * MINUTE, minute / 100))
      await store.quota.keep('a', point(NOW - 3 * 60 * MINUTE + minute * MINUTE, 0.3))
    }
    await recordQuotaHistory({ store, clock: { now: () => NOW }, account: 'a', windows: [point(NOW, 0.4)] })
    const kept = await store.quota.history({ account: 'a', window: 'five_hour', source: 'vendor', since: 0 })
    assert.ok(kept.every(({ at }) => at >= NOW - 14 * DAY))
    const old = kept.filter(({ at }) => at < NOW - 1.5 * DAY)
    assert.deepEqual(
      old.map(({ utilization }) => utilization),
      [0.09, 0.19, 0.29, 0.39, 0.49, 0.59],
      'the last point of each step',
    )
    assert.equal(kept.filter(({ at }) => at > NOW - DAY && at < NOW).length, 60)
  })

  test(`${name}: after the clock was set back the new report counts, and points in the future are gone`, async t => {
    const store = await open(t)
    const told = (at: number, utilization: number) =>
      recordQuotaHistory({ store, clock: { now: () => at }, account: 'a', windows: [point(at, utilization)] })
    await told(NOW + DAY, 0.9)
    await told(NOW, 0.2)
    assert.deepEqual((await store.quota.windows('a'))[0]?.utilization, 0.2)
    const query = { account: 'a', window: 'five_hour', source: 'vendor', since: 0 } as const
    assert.deepEqual(
      (await store.quota.history(query)).map(({ at }) => at),
      [NOW],
    )
  })

  test(`${name}: a session that ended before the requested time is not read`, async t => {
    const store = await open(t)
    const row = { project: '/p', task: 't', agent: 'claude', account: 'a' }
    await store.sessions.insert({ ...row, id: 's-1', name: 'one', state: 'ended', ended_at: NOW - DAY })
    await store.sessions.insert({ ...row, id: 's-2', name: 'two' })
    assert.equal((await store.quota.spending('a', NOW - MINUTE)).length, 1)
  })

  test(`${name}: usage reports since a time come in order, with the last one before it, and damaged ones are left out`, async t => {
    let now = NOW
    const store = await open(t, { clock: { now: () => now } })
    const row = { project: '/p', task: 't', agent: 'claude', account: 'a' }
    await store.sessions.insert({ ...row, id: 's-1', name: 'one' })
    await store.sessions.insert({ ...row, id: 's-2', name: 'two', account: 'b' })
    const used = (count: number) => ({ input_tokens: count, output_tokens: 2 * count, cache_write_tokens: 3 * count })
    const minutes = Array.from({ length: 250 }, (_, index) => index) // more than one read
    const damaged = [29, 100]
    for (const minute of minutes) {
      now = NOW + minute * MINUTE
      const event = { actor: 'agent', kind: 'usage.reported' } as const
      if (damaged.includes(minute)) {
        const stored = { ...event, subject: 's-1', time: now, schema_version: 1, body: '{' }
        await store.transaction(tx => tx.db.insertInto('events').values(stored).execute())
        continue
      }
      const body = { ...used(minute), cache_read_tokens: 0, cost_usd: 0 }
      await store.append(['s-1', 's-2'].map(subject => ({ ...event, subject, body })))
      await store.append([note('not a report')])
    }
    const sound = minutes.filter(minute => !damaged.includes(minute))
    const report = (minute: number) => ({ time: NOW + minute * MINUTE, ...used(minute) })
    assert.deepEqual(await store.quota.spending('a', NOW + 30 * MINUTE), [
      { base: report(28), reports: sound.filter(minute => minute >= 30).map(report) },
    ])
    assert.deepEqual(await store.quota.spending('a', NOW), [{ base: undefined, reports: sound.map(report) }])
  })
}
