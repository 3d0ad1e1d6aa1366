import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { ScheduleView } from '../../../src/domain/schedule.ts'
import { Calendar } from '../../../src/supervisor/runs/calendar.ts'
import { KeptEnvironments } from '../../../src/supervisor/session/kept-environments.ts'
import { tempDir } from '../../support/world.ts'
import { scriptedAgent } from '../session/scripted-agent.ts'
import { scriptedWorld } from '../session/scripted-world.ts'

const HOUR = 3_600_000
const ZONE = 'Europe/Berlin'

/** Runs of an empty project: each ends at once, with nothing to do. Every check is that of a daemon that has just started. */
async function calendarWorld(t: TestContext, begins: string) {
  const world = await scriptedWorld(
    t,
    scriptedAgent(() => ({})),
  )
  const project = tempDir(t, 'pcc-project-')
  const time = { now: Date.parse(begins) }
  const quota = { full: undefined as number | undefined, asked: 0 }
  const held = { by: undefined as Error | undefined }
  const kept = new KeptEnvironments(tempDir(t))
  const open = () =>
    new Calendar({
      ...{ store: world.store, clock: { now: () => time.now }, log: silentLog, kept, agentEnv: {} },
      keepsEnvironment: async () => true,
      start: async (request, also) => {
        if (held.by) throw held.by
        return world.supervisor.runs.start(request, also)
      },
      fullness: async () => {
        quota.asked += 1
        return quota.full
      },
    })
  const fired = async (id: string) => (await world.events(id)).filter(({ kind }) => kind === 'schedule.fired')
  return {
    ...world,
    project,
    time,
    quota,
    held,
    kept,
    fired,
    set: (when: object, more: object = {}) =>
      open().set({ project, target: { kind: 'project' }, env: { A: 'b' }, when: { zone: ZONE, ...when }, ...more }),
    cancel: (id: string) => open().cancel(id),
    row: async (id: string) => (await world.store.schedules.get(id)) ?? assert.fail(id),
    /** This many daemons check at once. */
    async look(daemons = 1) {
      const calendars = Array.from({ length: daemons }, open)
      await Promise.all(calendars.map(calendar => calendar.look()))
      await Promise.all(calendars.map(calendar => calendar.close()))
    },
    async ended(run: string | null) {
      if (run === null) return
      for await (const { kind } of world.store.follow(0, { subject: run })) if (kind === 'run.ended') return
    },
  }
}

test('a calendar looks again by itself when its next run is due', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const { due_at } = await world.set({ at: '16:00' })
  world.time.now = (due_at ?? 0) - 5_000
  const timers = t.mock.method(globalThis, 'setTimeout')
  await world.look()
  assert.ok(timers.mock.calls.some(({ arguments: [, ms] }) => ms === 5_000))
})

test('a run begins once at its time, whoever looks and however often, and not before', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const { id, due_at } = await world.set({ at: '16:00' })
  assert.equal(due_at, Date.parse('2026-11-15T15:00:00Z'))
  world.time.now = (due_at ?? 0) - 1
  await world.look(3)
  assert.equal((await world.fired(id)).length, 0)
  world.time.now += 1
  await world.look(3)
  await world.look()
  const { state, fired, last_run_id } = await world.row(id)
  assert.deepEqual([state, fired, (await world.fired(id)).length], ['over', 1, 1])
  assert.deepEqual(
    (await world.store.runs.list()).map(run => run.id),
    [last_run_id],
  )
  assert.equal(world.kept.of(id), undefined, 'what it was started with is not kept any longer')
})

test('a time that passed while no daemon was there comes once with the next one, and then as always', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const { id } = await world.set({ every: 'day 22:00' })
  world.time.now += 100 * HOUR // four nights
  await world.look(2)
  await world.ended((await world.row(id)).last_run_id)
  assert.equal((await world.fired(id)).length, 1)
  const { due_at, state } = await world.row(id)
  assert.deepEqual([state, due_at], ['waiting', Date.parse('2026-11-19T21:00:00Z')])
  assert.deepEqual(world.kept.of(id), { A: 'b' })
})

for (const [change, from] of [
  ['the clocks go forward', '2027-03-26T12:00:00Z'],
  ['the clocks go back', '2027-10-29T12:00:00Z'],
] as const) {
  test(`every night one run begins, also in the one in which ${change}`, async t => {
    const world = await calendarWorld(t, from)
    const { id } = await world.set({ every: 'day 02:30' })
    for (let half = 0; half < 2 * 24 * 4; half++) {
      world.time.now += HOUR / 2
      await world.look()
      await world.ended((await world.row(id)).last_run_id)
    }
    const nights = (await world.fired(id)).map(({ body }) => new Date('due_at' in body ? body.due_at : 0).toISOString())
    assert.equal(nights.length, 4)
    assert.equal(new Set(nights.map(night => night.slice(0, 10))).size, 4)
  })
}

test('a clock that is set back does not bring a time again, and one that was a year ahead does not hold up the next', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const { id } = await world.set({ every: 'day 22:00' })
  world.time.now = Date.parse('2026-11-15T21:00:10Z')
  await world.look()
  await world.ended((await world.row(id)).last_run_id)
  world.time.now -= 30_000
  await world.look()
  assert.equal((await world.fired(id)).length, 1)
  world.time.now += 365 * 24 * HOUR
  await world.look()
  await world.ended((await world.row(id)).last_run_id)
  assert.equal((await world.fired(id)).length, 2)
  world.time.now -= 364.9 * 24 * HOUR
  await world.look()
  assert.equal((await world.row(id)).due_at, Date.parse('2026-11-16T21:00:00Z'))
})

test('the same twice is refused by name; another time, another quota or another target is not the same', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const { id } = await world.set({ every: 'weekdays 22:00' })
  await assert.rejects(world.set({ every: 'weekdays 10pm' }), {
    code: 'schedule_there',
    detail: { id, when: 'every weekdays 22:00' },
  })
  await world.set({ every: 'weekdays 23:00' })
  await world.set({ every: 'weekdays 22:00', quota_below: 50 })
  await world.set({ every: 'weekdays 22:00' }, { target: { kind: 'feature', name: 'x' } })
  await world.cancel(id)
  await world.set({ every: 'weekdays 22:00' })
})

test('what is taken back never begins, and cannot be taken back twice', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const { id } = await world.set({ at: 'in 1h' })
  await world.cancel(id)
  world.time.now += 2 * HOUR
  await world.look()
  assert.equal((await world.store.runs.list()).length, 0)
  await assert.rejects(world.cancel(id), { code: 'schedule_over' })
  assert.equal(world.kept.of(id), undefined)
})

test('it waits while the quota is too full, says so, and begins once it is not; what nobody knows holds nothing back', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  world.quota.full = 0.63
  const { id } = await world.set({ quota_below: 50 })
  await world.look()
  assert.equal((await world.row(id)).reason, 'waits for the quota: 63 % used, to begin below 50 %')
  assert.equal((await world.fired(id)).length, 0)
  world.quota.full = 0.49
  await world.look()
  const { state, reason, last_run_id } = await world.row(id)
  assert.deepEqual([state, reason], ['over', null])
  await world.ended(last_run_id)
  world.quota.full = undefined
  const other = await world.set({ at: 'in 1h', quota_below: 10 })
  const asked = world.quota.asked
  await world.look()
  assert.equal(world.quota.asked, asked, 'before its time nobody asks')
  world.time.now += HOUR
  await world.look()
  assert.equal((await world.row(other.id)).state, 'over')
})

test('what passes by itself is waited for, and whoever looks sees for what', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const { id, due_at } = await world.set({ at: '16:00' })
  world.time.now = due_at ?? 0
  for (const by of [new Error('the file is locked'), new AppError('disk_full', { reason: 'no room' })]) {
    world.held.by = by
    await world.look()
    const { state, reason, due_at: still } = await world.row(id)
    assert.deepEqual([state, still, reason], ['waiting', due_at, `cannot begin yet: ${by.message}`])
  }
  world.held.by = undefined
  await world.look()
  const { state, reason } = await world.row(id)
  assert.deepEqual([state, reason, (await world.fired(id)).length], ['over', null, 1])
})

test('where no run can begin the time is left out and told', async t => {
  const world = await calendarWorld(t, '2026-11-15T14:45:00Z')
  const task = { title: 'something', project: world.project }
  assert.equal((await world.call('POST', '/tasks', task)).status, 201)
  await world.store.transaction(tx =>
    world.store.runs.insert(
      {
        ...{ id: 'r-other', project: world.project, target: { kind: 'project' }, options: {}, state: 'paused' },
        ...{
          outcome: null,
          reason: null,
          gave_up: null,
          stopping: false,
          iterations: 0,
          created_at: 0,
          ended_at: null,
        },
      },
      tx,
    ),
  )
  const { id } = await world.set({ every: '6h' })
  world.time.now += 6 * HOUR
  await world.look()
  const row = await world.row(id)
  assert.match(row.reason ?? '', /^no run began: .*r-other/)
  assert.ok(row.state === 'waiting' && (row.due_at ?? 0) > world.time.now)
  assert.equal((await world.events(id)).at(-1)?.kind, 'schedule.skipped')
})

test('the routes set, list and take back; a run begins without anybody and drains its tasks', async t => {
  const world = await scriptedWorld(
    t,
    scriptedAgent(() => ({})),
  )
  const project = tempDir(t, 'pcc-project-')
  const following = new AbortController()
  const followed = Promise.all([
    world.supervisor.runs.follow(0, following.signal),
    world.supervisor.completion.follow(0, following.signal),
  ])
  t.after(async () => {
    following.abort()
    await followed
  })
  assert.equal((await world.call('POST', '/tasks', { title: 'one thing', project })).status, 201)
  const request = { project, target: { kind: 'project' }, env: {}, when: { at: 'in 1h', zone: ZONE } }
  const { status, body: set } = await world.call('POST', '/schedules', request)
  assert.equal(status, 201)
  const list = async (query = '') => (await world.call('GET', `/schedules${query}`)).body.schedules as ScheduleView[]
  assert.deepEqual(
    (await list()).map(({ id, state }) => [id, state]),
    [[set.id, 'waiting']],
  )
  world.pass(HOUR)
  for await (const { kind } of world.store.follow(0)) if (kind === 'run.ended') break
  assert.deepEqual(await list(), [])
  const [over] = await list('?all=true')
  const { body: run } = await world.call('GET', `/runs/${over?.last_run_id}`)
  assert.deepEqual([run.outcome, run.tasks], ['complete', { done: 1 }])
  const bad = await world.call('POST', '/schedules', { ...request, when: { at: '02:00', zone: 'Mars/Olympus' } })
  assert.deepEqual([bad.status, bad.body.error.code], [400, 'bad_request'])
  assert.equal((await world.call('POST', `/schedules/${set.id}/cancel`, {})).body.error.code, 'schedule_over')
  assert.equal((await world.call('POST', '/schedules/c-zz/cancel', {})).body.error.code, 'schedule_unknown')
  assert.equal((await world.call('POST', '/schedules', request)).status, 201)
  const { body: two } = await world.call('POST', '/schedules/c-/cancel', {})
  assert.deepEqual(
    [two.error.code, /matches several schedules: c-/.test(two.error.message)],
    ['schedule_ambiguous', true],
  )
})
