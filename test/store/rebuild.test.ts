import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { openStore } from '../../src/store/open.ts'
import { rebuildStore } from '../../src/store/rebuild.ts'
import { copyRows, JSON_COLUMNS } from '../../src/store/salvage-rows.ts'
import { checkIntegrity, copyAside } from '../../src/store/sqlite-file.ts'
import { openTasks } from '../../src/tasks/tasks.ts'
import { tempDir } from '../support/world.ts'
import { keepAttempt, keepRun } from './an-attempt.ts'
import { note, textOf, upTo } from './databases.ts'

const PAGE = 4096
const EVENTS = 1500
const SESSIONS = 40

/** A store with many events and sessions, closed. */
async function filled(t: TestContext): Promise<{ file: string; bytes: Buffer; pageOf(text: string): number }> {
  const file = join(tempDir(t), 'store.db')
  await using store = await openStore({ file })
  const long = (n: number) => (n % 50 === 0 ? 'long '.repeat(3_000) : '.'.repeat(80))
  await store.append(upTo(EVENTS).map(n => note(`event-${n}-${long(n)}`, n % 2 ? 'odd' : 'even')))
  for (const n of upTo(SESSIONS)) {
    await store.sessions.insert({
      id: `s-${n}`,
      name: `name-${n}`,
      project: '/p',
      task: 't'.repeat(500),
      agent: 'claude',
    })
  }
  await store.close()
  const bytes = readFileSync(file)
  return { file, bytes, pageOf: text => Math.floor(bytes.indexOf(text) / PAGE) }
}

/** The content after a repair: the numbers of events with intact text, and the ids of sessions. */
async function contents(file: string): Promise<{ events: number[]; sessions: number; lost: number }> {
  await using store = await openStore({ file })
  const events = (await store.events({})).filter(({ kind }) => kind === 'session.noted')
  const numbers = events.flatMap(event => {
    const n = Number(/^event-(\d+)-/.exec(textOf(event))?.[1])
    assert.equal(n, event.id)
    return [n]
  })
  const sessions = (await store.sessions.list()).length
  return { events: numbers, sessions, lost: EVENTS - numbers.length }
}

test('an intact store is rebuilt unchanged, and its file is kept', async t => {
  const { file, bytes } = await filled(t)
  assert.deepEqual(checkIntegrity(file, { thorough: true }), [])
  const { kept, rows, dropped } = await rebuildStore(file, Date.now())
  assert.deepEqual(readFileSync(kept), bytes)
  assert.deepEqual([rows['events'], rows['sessions'], dropped], [EVENTS, SESSIONS, {}])
  const { lost, sessions } = await contents(file)
  assert.deepEqual([lost, sessions], [0, SESSIONS])
})

test('a damaged leaf loses only its own rows; a damaged inner page loses none', async t => {
  const { file, bytes, pageOf } = await filled(t)
  const damaged = Buffer.from(bytes)
  const leaf = pageOf('event-777-')
  damaged.fill(0xa5, leaf * PAGE, (leaf + 1) * PAGE)
  writeFileSync(file, damaged)
  assert.notDeepEqual(checkIntegrity(file), [])
  await rebuildStore(file, Date.now())
  const after = await contents(file)
  assert.ok(after.lost > 0 && after.lost < 60 && !after.events.includes(777), `lost ${after.lost}`)
  assert.equal(after.sessions, SESSIONS)
  assert.deepEqual(checkIntegrity(file, { thorough: true }), [])

  const interior = upTo(bytes.length / PAGE - 1).find(page => bytes[page * PAGE] === 0x05)
  assert.ok(interior)
  const beheaded = Buffer.from(bytes)
  beheaded.fill(0, interior * PAGE, (interior + 1) * PAGE)
  writeFileSync(file, beheaded)
  await rebuildStore(file, Date.now() + 1000)
  assert.equal((await contents(file)).lost, 0)
})

test('an overwritten header is restored; a truncated file keeps its remaining rows', async t => {
  const { file, bytes } = await filled(t)
  const headless = Buffer.from(bytes)
  headless.fill(0x20, 0, 100)
  writeFileSync(file, headless)
  await rebuildStore(file, Date.now())
  assert.deepEqual(await contents(file).then(({ lost, sessions }) => [lost, sessions]), [0, SESSIONS])

  writeFileSync(file, bytes.subarray(0, Math.floor(bytes.length / 2)))
  await rebuildStore(file, Date.now() + 1000)
  const { events } = await contents(file)
  assert.ok(events.length > EVENTS / 5, `${events.length} events`)
  assert.deepEqual(checkIntegrity(file, { thorough: true }), [])
})

test('wherever bytes are flipped, a repair loses at most the damaged pages, and its result is intact', async t => {
  const { file, bytes } = await filled(t)
  const pages = bytes.length / PAGE
  const perPage = new Map<number, number>()
  for (const n of upTo(EVENTS)) {
    const page = Math.floor(bytes.indexOf(`event-${n}-`) / PAGE)
    perPage.set(page, (perPage.get(page) ?? 0) + 1)
  }
  const flips = fc.array(fc.record({ at: fc.nat(bytes.length - 1), bits: fc.integer({ min: 1, max: 255 }) }), {
    minLength: 1,
    maxLength: 12,
  })
  let round = 0
  await fc.assert(
    fc.asyncProperty(flips, async flipped => {
      const damaged = Buffer.from(bytes)
      for (const { at, bits } of flipped) damaged[at] = (damaged[at] ?? 0) ^ bits
      for (const part of ['', '-wal', '-shm']) rmSync(`${file}${part}`, { force: true })
      writeFileSync(file, damaged)
      await rebuildStore(file, Date.now() + 1000 * round++)
      assert.deepEqual(checkIntegrity(file, { thorough: true }), [])
      await using store = await openStore({ file })
      const there = (await store.events({})).length
      const touched = new Set(flipped.map(({ at }) => Math.floor(at / PAGE)))
      // A damaged overflow page loses the event it belongs to; a damaged inner page loses nothing.
      const bound = [...touched].reduce((sum, page) => sum + (perPage.get(page) ?? 1), 0)
      assert.ok(EVENTS - there <= bound, `lost ${EVENTS - there}, bound ${bound}, ${pages} pages`)
      await store.sessions.list()
    }),
    { numRuns: 25, seed: 20261115 },
  )
})

test('rows that are only in the log are not lost, and a second repair changes nothing', async t => {
  const file = join(tempDir(t), 'store.db')
  const store = await openStore({ file })
  await store.append(upTo(30).map(n => note(`event-${n}-`)))
  assert.ok(statSync(`${file}-wal`).size > 0)
  const copy = join(tempDir(t), 'store.db')
  for (const part of ['', '-wal', '-shm']) writeFileSync(`${copy}${part}`, readFileSync(`${file}${part}`))
  await store.close()
  const first = await rebuildStore(copy, Date.now())
  assert.equal(first.rows['events'], 30)
  assert.ok(existsSync(`${first.kept}-wal`))
  const second = await rebuildStore(copy, Date.now() + 1000)
  assert.deepEqual(second.rows, first.rows)
  assert.ok(!existsSync(`${copy}-wal`) || statSync(`${copy}-wal`).size === 0)
})

test('the same damaged file is copied aside once', async t => {
  const { file } = await filled(t)
  const first = copyAside(file, Date.now())
  assert.equal(copyAside(file, Date.now() + 5000), first)
  writeFileSync(file, 'other')
  assert.notEqual(copyAside(file, Date.now() + 5000), first)
})

test('a session that is recognised only by its content starts nothing; a cursor does not run ahead of lost events', async t => {
  const { file } = await filled(t)
  {
    await using store = await openStore({ file })
    await store.sessions.update('s-1', { state: 'running', owner: 'boot-gone', marker: 'm' })
    await store.sessions.update('s-2', { state: 'ended', ended_as: 'rate_limited', ended_at: 5, resumes_at: 7 })
    await store.sessions.update('s-3', { state: 'ended', ended_as: 'completed', ended_at: 5 })
    await store.outbox.moveCursor('notify', EVENTS)
  }
  const bytes = readFileSync(file)
  for (const page of upTo(bytes.length / PAGE - 1)) {
    const isInterior = bytes[page * PAGE] === 0x05
    const isNewest = bytes.subarray(page * PAGE, (page + 1) * PAGE).includes(`event-${EVENTS}-`)
    if (isInterior || isNewest) bytes.fill(0, page * PAGE, (page + 1) * PAGE)
  }
  writeFileSync(file, bytes)
  await rebuildStore(file, Date.now())
  await using store = await openStore({ file })
  const stood = async (id: string) => {
    const { state, ended_as, owner, resumes_at, marker } = (await store.sessions.get(id)) ?? {}
    return [state, ended_as, owner, resumes_at, marker]
  }
  assert.deepEqual(await stood('s-1'), ['ended', 'paused', null, null, 'm'])
  assert.deepEqual(await stood('s-2'), ['ended', 'paused', null, null, null])
  assert.deepEqual(await stood('s-3'), ['ended', 'completed', null, null, null])
  const newest = Math.max(...(await store.events({})).map(({ id }) => id))
  assert.ok(newest < EVENTS)
  assert.equal(await store.outbox.cursor('notify'), newest)
})

test('a row that is older than a column is recognised by its content too, and has the default there', async t => {
  const { file } = await filled(t)
  const fresh = join(tempDir(t), 'fresh.db')
  await (await openStore({ file: fresh })).close()
  for (const path of [file, fresh]) {
    using database = new DatabaseSync(path)
    database.exec(`pragma journal_mode = delete; alter table events add column place text not null default 'here';
      alter table sessions add column rank integer`)
  }
  const bytes = readFileSync(file)
  for (const page of upTo(bytes.length / PAGE - 1))
    if (bytes[page * PAGE] === 0x05) bytes.fill(0, page * PAGE, (page + 1) * PAGE)
  writeFileSync(file, bytes)
  const { rows } = copyRows(file, fresh)
  assert.deepEqual([rows['events'], rows['sessions']], [EVENTS, SESSIONS])
  using database = new DatabaseSync(fresh)
  assert.deepEqual({ ...database.prepare('select distinct place from events').get() }, { place: 'here' })
})

test('the journal of a rebuilt store can be searched again', async t => {
  const file = join(tempDir(t), 'store.db')
  {
    await using store = await openStore({ file })
    await keepRun(store, 'r-1')
    await keepAttempt(store, { task: 't-1', notes: 'Totals are cents.' })
  }
  const { rows, dropped } = await rebuildStore(file, Date.now())
  assert.deepEqual([rows['attempts'], dropped], [1, {}])
  await using store = await openStore({ file })
  const found = await store.journal.entries({ words: { list: ['cents'], need: 'all' }, limit: 10 })
  assert.deepEqual(
    found.map(({ task_id }) => task_id),
    ['t-1'],
  )
})

test('a row whose JSON is cut is left out, or its reader takes the damaged value for an empty one: every list can be read', async t => {
  const file = join(tempDir(t), 'store.db')
  const project = '/p'
  {
    await using store = await openStore({ file })
    const times = { created_at: 0, updated_at: 0 }
    await keepRun(store, 'r-1')
    await keepAttempt(store, { task: 't-1', notes: 'Totals are cents.' })
    await store.sessions.insert({ id: 's-1', name: 's-1', project, task: 'x', agent: 'claude' })
    const tasks = openTasks({ store, clock: { now: Date.now } })
    await store.transaction(async tx => {
      const feature = { id: 'f-1', project, name: 'shop', phase: 'spec', until: 'tasks', session_id: null } as const
      await store.features.insert({ ...feature, ...times, source: null, options: {}, draft: [], problem: null }, tx)
      const schedule = { id: 'c-1', project, target: { kind: 'project' }, options: {}, state: 'waiting' } as const
      const when = { at: null, every: 'day 23:00', quota_below: null, zone: 'UTC', pattern: '0 23 * * *', due_at: 1 }
      const before = { fired: 0, reason: null, last_fired_at: null, last_run_id: null, created_at: 0 }
      await store.schedules.insert({ ...schedule, ...when, ...before }, tx)
      await tasks.submit({ session_id: null, project, text: 'x', budget: { cost_usd: 1 } }, tx)
    })
  }
  const whole = readFileSync(file)
  for (const [table, columns] of Object.entries(JSON_COLUMNS)) {
    for (const column of Object.keys(columns)) {
      writeFileSync(file, whole)
      {
        using database = new DatabaseSync(file)
        const triggers = database.prepare(`select name from sqlite_master where type = 'trigger'`).all()
        for (const { name } of triggers) database.exec(`drop trigger "${name}"`) // events are append-only
        database.exec(`pragma journal_mode = delete; update "${table}" set "${column}" = '{"cut'`)
      }
      await rebuildStore(file, Date.now())
      await using store = await openStore({ file })
      const read = [store.runs.list(), store.schedules.list(), store.features.list(), store.sessions.list()]
      const other = [store.tasks.listAsJson({ project }), store.journal.entries({ limit: 10 }), store.events({})]
      await assert.doesNotReject(Promise.all([...read, ...other]), `${table}.${column}`)
    }
  }
})
