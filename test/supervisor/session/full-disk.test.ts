import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { AppError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import { watchDisk } from '../../../src/daemon/disk.ts'
import { openStore } from '../../../src/store/open.ts'
import { pauseForGate, tripGuard } from '../../../src/supervisor/session/stop-agent.ts'
import { tempDir } from '../../support/world.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

const FULL = 'only 3 MB are free'
const isPaused = ({ status }: { status: string }) => status === 'paused'
const isComplete = ({ status }: { status: string }) => status === 'completed'

test('a full disk pauses sessions after the tool in flight and refuses new ones, and all go on when there is space', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  const held = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await held
  world.disk.reason = FULL
  world.supervisor.holdForDisk(FULL)
  goOn()
  const paused = await world.when(id, isPaused)
  assert.match(paused.reason ?? '', /only 3 MB are free/)
  assert.match(paused.reason ?? '', /by itself/)
  assert.ok(paused.resumes_at !== null)

  const refused = await world.call('POST', '/sessions', { project: paused.project, task: 'second', env: {} })
  assert.deepEqual([refused.status, refused.body.error.code], [507, 'disk_full'])
  assert.match(refused.body.error.message, /only 3 MB are free/)
  const resumed = await world.call('POST', `/sessions/${id}/resume`, {})
  assert.equal(resumed.body.error.code, 'disk_full')
  const calls = agent.calls()
  world.pass(3_600_000)
  await new Promise(resolve => setTimeout(resolve, 50))
  assert.equal(agent.calls(), calls, 'nothing goes on while the disk is full, however often it is due')
  assert.equal((await world.view(id)).status, 'paused')

  world.disk.reason = undefined
  world.pass(0)
  await world.when(id, isComplete)
  const { body } = await world.call('GET', `/sessions/${id}/tasks`)
  assert.deepEqual(
    body.tasks.map(({ state }: { state: string }) => state),
    ['done'],
  )
})

test('an answer starts nothing on a full disk and can be given again; once there is space it is accepted', async t => {
  const agent = scriptedAgent(() => ({ asks: true }))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('ask something')
  await world.ended(id, 1)
  const { body } = await world.call('GET', '/escalations')
  const { number } = body.escalations[0]
  const calls = agent.calls()

  world.disk.reason = FULL
  const answer = () => world.call('POST', `/escalations/${number}/answer`, { answer: ['SQLite'], env: {} })
  const refused = await answer()
  assert.deepEqual([refused.status, refused.body.error?.code], [507, 'disk_full'])
  assert.equal((await world.view(id)).status, 'waiting_input')
  assert.equal(agent.calls(), calls)
  assert.equal((await world.store.escalations.get(number))?.state, 'open')

  world.disk.reason = undefined
  assert.equal((await answer()).status, 200)
  await world.when(id, ({ status }) => status === 'completed')
})

test('a failed write of the store pauses its session, which is settled when there is space again', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  const held = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await held
  const free = await fill(world)
  goOn()
  while (agent.open() > 0) await new Promise(resolve => setTimeout(resolve, 5))
  assert.notEqual((await world.view(id)).status, 'error')

  await free()
  await world.when(id, isPaused)
  world.disk.reason = undefined
  world.pass(60_000)
  await world.when(id, isComplete)
})

for (const why of ['a closed account', 'a person', 'a spent budget'] as const) {
  test(`a session that ${why} was pausing when a write of the store failed waits as it would have, and its task does not fail`, async t => {
    const agent = scriptedAgent()
    const world = await scriptedWorld(t, agent)
    const held = agent.holdAt('tool')
    const id = await world.start('first')
    const goOn = await held
    const live = world.supervisor.run(id)
    assert.ok(live)
    if (why === 'a closed account') pauseForGate(live)
    else if (why === 'a person') void world.call('POST', `/sessions/${id}/pause`)
    else tripGuard(live, { guard: 'budget', reason: 'The budget is spent', next: 'Raise it.' })
    while (live.control.pausing === undefined) await new Promise(resolve => setTimeout(resolve, 5))
    const free = await fill(world)
    goOn()
    while (agent.open() > 0) await new Promise(resolve => setTimeout(resolve, 5))
    await free()
    world.disk.reason = undefined
    const { status, reason } = await world.when(id, ({ ended_at }) => ended_at !== null)
    const expected = {
      'a closed account': ['rate_limited', /the limit is over/],
      'a person': ['paused', /paused by a person/],
      'a spent budget': ['paused', /The budget is spent/],
    } as const
    assert.equal(status, expected[why][0])
    assert.match(reason ?? '', expected[why][1])
    assert.equal((await world.store.tasks.list({ session: id }))[0]?.state, 'waiting')
  })
}

test('a session that is complete stays so if its end cannot be stored at once', async t => {
  const agent = scriptedAgent()
  const open: typeof agent.driver.open = async options =>
    Object.assign(await agent.driver.open(options), { alone: true })
  const world = await scriptedWorld(t, agent, {}, async () => ({ ...agent.driver, open }))
  const { sessions } = world.store
  const { update } = sessions
  let failures = 0
  sessions.update = async (id, patch, tx) => {
    if (patch.state === 'ended' && failures++ === 0) throw new AppError('store_unusable', { file: 'db', problem: FULL })
    return update.call(sessions, id, patch, tx)
  }
  const id = await world.start('first')
  const { status } = await world.when(id, ({ ended_at }) => ended_at !== null)
  assert.deepEqual([status, failures, agent.prompts], ['completed', 2, ['first']])
  assert.equal((await world.store.tasks.list({ session: id }))[0]?.state, 'done')
})

test('an answer that cannot be stored on its way to the agent is given in words when there is space again', async t => {
  const agent = scriptedAgent(prompt => ({ asks: !prompt.includes('answers to your questions') }))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('ask something')
  await world.ended(id, 1)
  const held = agent.holdAt('answer')
  const [row] = (await world.call('GET', '/escalations')).body.escalations
  const answered = await world.call('POST', `/escalations/${row.number}/answer`, { answer: ['SQLite'], env: {} })
  assert.equal(answered.status, 200)
  const goOn = await held
  const free = await fill(world)
  goOn()
  while (agent.open() > 0) await new Promise(resolve => setTimeout(resolve, 5))
  await free()
  await world.when(id, isPaused)
  world.disk.reason = undefined
  world.pass(60_000)
  await world.when(id, isComplete)
  assert.match(agent.prompts.at(-1) ?? '', /answers to your questions are:\n- Which\? SQLite/)
  const events = (await world.events(id)).filter(({ kind }) => kind === 'question.answered')
  assert.equal(events.length, 1)
})

test('a failed write holds work back until a write succeeds, and so does too little space', async () => {
  let free = true
  let writes = false
  const changes: string[] = []
  using disk = watchDisk({
    dir: '/data',
    minFreeMb: 1,
    log: silentLog,
    busy: () => false,
    held: ({ state }) => changes.push(state),
    prove: () => (writes ? Promise.resolve() : Promise.reject(enospc())),
    freed: () => changes.push('freed'),
    look: () => (free ? { state: 'ok', reason: '' } : { state: 'full', reason: 'little is free' }),
  })
  assert.equal(disk.mayStart(), undefined)
  disk.failed(new Error('something else'))
  assert.equal(disk.mayStart(), undefined)
  disk.failed(enospc())
  assert.match(disk.mayStart() ?? '', /no space/)
  await disk.tick()
  assert.match(disk.mayStart() ?? '', /no space/, 'the trial write failed')
  writes = true
  await disk.tick()
  assert.equal(disk.mayStart(), undefined)
  free = false
  assert.equal(disk.mayStart(), 'little is free')
  await disk.tick()
  free = true
  await disk.tick()
  assert.deepEqual(changes, ['full', 'full', 'full', 'freed', 'full', 'freed'])
})

test('the store reports every write that its disk refused', async t => {
  const failures: unknown[] = []

  await using store = await openStore({ file: `${tempDir(t)}/db`, onFailure: error => failures.push(error) })
  await store.transaction(tx => sql.raw('pragma max_page_count = 1').execute(tx.db))
  const body = { reason: 'x'.repeat(200_000) }
  await assert.rejects(store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body }]))
  assert.equal(failures.length, 1)
})

/** Makes the disk of the store full, as the daemon sees it, until the returned function is called. */
async function fill({ store, disk, supervisor }: ScriptedWorld): Promise<() => Promise<unknown>> {
  const pages = (n: number) => store.transaction(tx => sql.raw(`pragma max_page_count = ${n}`).execute(tx.db))
  const { rows } = (await pages(1)) as { rows: { max_page_count: number }[] }
  const now = rows[0]?.max_page_count ?? 0
  // The room that is left inside existing pages is used up first.
  const note = (length: number) =>
    ({ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason: 'x'.repeat(length) } }) as const
  for (const length of [2_000, 100, 0]) {
    await assert.rejects(
      async () => {
        for (;;) await store.append([note(length)])
      },
      { code: 'store_unusable', message: /the disk is full/ },
    )
  }
  // The listener stops sessions softly before the failed write is reported.
  disk.failed = () => {
    disk.reason = FULL
    supervisor.holdForDisk(FULL)
  }
  return () => pages(now + 10_000)
}

function enospc(): Error {
  return Object.assign(new Error('no space left'), { code: 'ENOSPC' })
}
