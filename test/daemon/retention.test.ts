import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { silentLog } from '../../src/base/log.ts'
import { canTrustClock, pruneOnce, startRetention } from '../../src/daemon/retention.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { AN_ESCALATION } from '../support/an-escalation.ts'
import { tempDir } from '../support/world.ts'

const DAY = 24 * 60 * 60_000
const NOW = Date.parse('2026-06-01T12:00:00Z')

/** A store with sessions of all kinds, each with old events, and what is left of it after a retention round at a given time. */
async function world(t: TestContext) {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  for (const dir of [paths.data, paths.run, paths.logs]) mkdirSync(dir, { recursive: true })
  const store = await openStore({ file: paths.database })
  t.after(() => store.close())
  const round = (now: number, env: Record<string, string> = {}) =>
    pruneOnce({ paths, env, store, log: silentLog, clock: { now: () => now } }, new AbortController().signal)
  return { paths, store, round }
}

async function session(store: Store, id: string, ended_as: 'completed' | 'stopped' | 'paused', ended_at: number) {
  await store.sessions.insert({ id, name: id, project: '/p', task: 't', agent: 'claude' })
  await store.sessions.update(id, { state: 'ended', ended_as, ended_at })
  const created = { name: id, project: '/p', task: 't', agent: 'claude' }
  await store.append([{ actor: 'cli', subject: id, kind: 'session.created', body: created, time: ended_at - DAY }])
  const note = (n: number) =>
    ({ actor: 'daemon', subject: id, kind: 'session.noted', body: { text: `${n}` }, time: ended_at - n }) as const
  await store.append(Array.from({ length: 1200 }, (_, n) => note(n)))
  const body = { status: ended_as, reason: '' }
  await store.append([{ actor: 'daemon', subject: id, kind: 'session.ended', body, time: ended_at }])
}

const countOf = async (store: Store, subject: string) => (await store.events({ subject })).length

/** Adds a recent event, so that the clock is trusted. */
const lately = (store: Store, now: number) =>
  store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason: '' }, time: now - DAY }])

test('data.event_retention_days: events of sessions that are over go when they are old, but for how they began and ended; what can go on keeps all', async t => {
  const { store, round } = await world(t)
  await session(store, 's-old', 'completed', NOW - 100 * DAY)
  await session(store, 's-paused', 'paused', NOW - 100 * DAY)
  await session(store, 's-asking', 'stopped', NOW - 100 * DAY)
  await session(store, 's-young', 'completed', NOW - 10 * DAY)
  await store.transaction(tx => store.escalations.insert({ ...AN_ESCALATION, session_id: 's-asking' }, tx))
  await lately(store, NOW)
  await round(NOW)
  const counts = await Promise.all(['s-old', 's-paused', 's-asking', 's-young'].map(id => countOf(store, id)))
  assert.deepEqual(counts, [2, 1202, 1202, 1202])
  assert.deepEqual(
    (await store.events({ subject: 's-old' })).map(({ kind }) => kind),
    ['session.created', 'session.ended'],
  )
  const change = store.transaction(tx => tx.db.deleteFrom('events').execute())
  await assert.rejects(change, /append-only/, 'nobody else may delete')
  await round(NOW, { PCC_DATA_EVENT_RETENTION_DAYS: '5' })
  assert.equal(await countOf(store, 's-young'), 2)
})

test('the answers of an interview stay until its feature has its tasks, however old they are', async t => {
  const { store, round } = await world(t)
  const feature = { id: 'f-1', name: 'shop', phase: 'interview' } as const
  await session(store, 's-asked', 'completed', NOW - 100 * DAY)
  await store.sessions.update('s-asked', { options: { project: '/p', task: 't', feature } })
  const row = { ...feature, project: '/p', source: null, options: {}, until: 'tasks', draft: [] } as const
  const rest = { session_id: null, problem: null, created_at: 1, updated_at: 1 }
  await store.transaction(tx => store.features.insert({ ...row, phase: 'spec', draft: [], ...rest }, tx))
  await lately(store, NOW)
  const body = { reason: 'x'.repeat(2_000_000) }
  await store.append([{ actor: 'daemon', subject: 'other', kind: 'daemon.stopped', body, time: NOW - DAY }])
  await round(NOW, { PCC_DATA_MAX_EVENTS_MB: '1' })
  assert.equal(await countOf(store, 's-asked'), 1202)
  await store.features.update('f-1', { phase: 'ready' })
  await round(NOW)
  assert.equal(await countOf(store, 's-asked'), 2)
})

test('the end of a run stays, because what its page shows is read from it', async t => {
  const { store } = await world(t)
  const time = NOW - 100 * DAY
  await store.append([
    { actor: 'daemon', subject: 'r-1', kind: 'run.started', body: { project: '/p', target: 'shop' }, time },
    { actor: 'daemon', subject: 'r-1', kind: 'run.ended', body: { outcome: 'complete', reason: '' }, time },
  ])
  await lately(store, NOW)
  await store.pruning.prune('r-1', NOW, new AbortController().signal)
  assert.deepEqual(
    (await store.events({ subject: 'r-1' })).map(({ kind }) => kind),
    ['run.ended'],
  )
})

test('data.max_events_mb: what a reader has not read yet is kept, and a database that is too large loses the oldest first', async t => {
  const { store, round } = await world(t)
  await session(store, 's-first', 'completed', NOW - 20 * DAY)
  await session(store, 's-second', 'completed', NOW - 10 * DAY)
  await lately(store, NOW)
  const body = { reason: 'x'.repeat(2_000_000) }
  await store.append([{ actor: 'daemon', subject: 'other', kind: 'daemon.stopped', body, time: NOW - DAY }])
  await store.outbox.moveCursor('notify', 600)
  await round(NOW, { PCC_DATA_MAX_EVENTS_MB: '1' })
  assert.equal(await countOf(store, 's-first'), 1202 - 599, 'the reader had come to 600')
  assert.equal(await countOf(store, 's-second'), 1202)
  await store.outbox.moveCursor('notify', 10_000)
  await round(NOW, { PCC_DATA_MAX_EVENTS_MB: '1' })
  assert.deepEqual([await countOf(store, 's-first'), await countOf(store, 's-second')], [2, 2])
  const [next] = await store.append([{ actor: 'daemon', subject: 'x', kind: 'daemon.stopped', body: { reason: '' } }])
  assert.equal(next?.id, 2407, 'no number is given twice')
})

test('a clock that is a year ahead removes nothing until it has said so on two days', async t => {
  const { paths, store, round } = await world(t)
  await session(store, 's-1', 'completed', NOW - 2 * DAY)
  const checkpoints = join(paths.data, 'checkpoints', 's-1')
  mkdirSync(checkpoints, { recursive: true })
  writeFileSync(join(checkpoints, '2026-05-30T12-00-00.000Z.json'), '{}')
  const rotated = join(paths.logs, 'daemon.log.1')
  writeFileSync(rotated, 'x')
  const year = NOW + 365 * DAY
  await round(year)
  await round(year + 60_000)
  assert.equal(await countOf(store, 's-1'), 1202)
  assert.equal(readdirSync(checkpoints).length, 1)
  await round(NOW)
  assert.equal(await countOf(store, 's-1'), 1202, 'the clock was put right again')
  await round(year)
  assert.equal(await countOf(store, 's-1'), 1202)
  await round(year + DAY)
  assert.equal(await countOf(store, 's-1'), 2)
  assert.deepEqual(existsSync(checkpoints) ? readdirSync(checkpoints) : [], [])
})

test('what was written by a clock that is a year ahead does not make the next daemon believe it', async t => {
  const { store, round } = await world(t)
  await session(store, 's-1', 'completed', NOW - 2 * DAY)
  const year = NOW + 365 * DAY
  const wrote = (time: number) =>
    store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason: '' }, time }])
  await wrote(year - 60 * 60_000)
  await round(year)
  assert.equal(await countOf(store, 's-1'), 1202, 'the clock was set while a daemon ran')
  await wrote(year)
  await round(year + 60 * 60_000)
  assert.equal(await countOf(store, 's-1'), 1202, 'one daemon had doubted it, the next one too')
  await round(NOW)
  assert.equal(await countOf(store, 's-1'), 1202)
})

test('a clock is believed near the last thing written, or a day after it was first doubted', () => {
  const doubted = { now: NOW, gapMs: 400 * DAY }
  assert.equal(canTrustClock({ now: NOW, gapMs: 7 * DAY, doubtedAt: undefined }), true)
  assert.equal(canTrustClock({ ...doubted, doubtedAt: undefined }), false)
  assert.equal(canTrustClock({ ...doubted, doubtedAt: NOW - 60 * 60_000 }), false)
  assert.equal(canTrustClock({ ...doubted, doubtedAt: NOW - DAY }), true)
  assert.equal(canTrustClock({ ...doubted, doubtedAt: NOW - 300 * DAY }), false, 'set once more')
  assert.equal(canTrustClock({ ...doubted, doubtedAt: NOW + DAY }), false, 'set back in between')
  assert.equal(canTrustClock({ now: NOW, gapMs: -400 * DAY, doubtedAt: undefined }), true, 'nothing looks old to it')
})

test('old data is looked for once a day, as long as the daemon runs', async t => {
  const { paths, store } = await world(t)
  const repeat = t.mock.method(globalThis, 'setInterval')
  const retention = startRetention({ paths, env: {}, store, log: silentLog, clock: { now: () => NOW } })
  assert.deepEqual(
    repeat.mock.calls.map(({ arguments: [, everyMs] }) => everyMs),
    [DAY],
  )
  await retention[Symbol.asyncDispose]()
})

test('logs.keep_days: rotated logs and diagnostics go by their age, and many diagnostics by their number', async t => {
  const { paths, store, round } = await world(t)
  await lately(store, NOW)
  const put = (name: string, ageDays: number) => {
    writeFileSync(join(paths.logs, name), 'x')
    utimesSync(join(paths.logs, name), (NOW - ageDays * DAY) / 1000, (NOW - ageDays * DAY) / 1000)
  }
  put('daemon.log', 100)
  put('daemon.log.1', 29)
  put('daemon.log.2', 31)
  put('notes-of-mine.txt', 1000)
  for (let n = 10; n < 40; n++) put(`stall-${n}.json`, n / 10)
  await round(NOW)
  const left = readdirSync(paths.logs).toSorted()
  assert.deepEqual(
    left.filter(name => !name.startsWith('stall')),
    ['daemon.log', 'daemon.log.1', 'notes-of-mine.txt'],
  )
  assert.equal(left.filter(name => name.startsWith('stall')).length, 20)
  await round(NOW, { PCC_LOGS_KEEP_DAYS: '10' })
  assert.ok(!existsSync(join(paths.logs, 'daemon.log.1')))
})

test('what hooks keep of a conversation goes after thirty days, and of one that goes on it stays', async t => {
  const { paths, store, round } = await world(t)
  await lately(store, NOW)
  const files = ['hook-sessions', 'hook-usage', 'hook-tasks', 'hook-calls'].flatMap(folder => {
    mkdirSync(join(paths.run, folder), { recursive: true })
    return [29, 31].map(ageDays => {
      const file = join(paths.run, folder, `o-${ageDays}`)
      writeFileSync(file, 'x')
      utimesSync(file, (NOW - ageDays * DAY) / 1000, (NOW - ageDays * DAY) / 1000)
      return file
    })
  })
  await round(NOW)
  const left = files.filter(file => existsSync(file))
  assert.deepEqual(
    left.map(file => basename(file)),
    ['o-29', 'o-29', 'o-29', 'o-29'],
  )
})

test('data.max_checkpoints_mb: checkpoints that are too large together go, the oldest first; what can go on keeps its last', async t => {
  const { paths, store, round } = await world(t)
  await session(store, 's-1', 'completed', NOW - DAY)
  await session(store, 's-2', 'paused', NOW - DAY)
  const names = ['2026-05-30T12-00-00.000Z.json', '2026-05-31T12-00-00.000Z.json']
  for (const id of ['s-1', 's-2']) {
    mkdirSync(join(paths.data, 'checkpoints', id), { recursive: true })
    for (const name of names) writeFileSync(join(paths.data, 'checkpoints', id, name), 'x'.repeat(600_000))
  }
  await round(NOW, { PCC_DATA_MAX_CHECKPOINTS_MB: '1' })
  const left = (id: string) => {
    const dir = join(paths.data, 'checkpoints', id)
    return existsSync(dir) ? readdirSync(dir) : []
  }
  assert.deepEqual(left('s-2'), names.slice(1))
  assert.deepEqual(left('s-1'), [])
})
