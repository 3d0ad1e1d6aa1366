import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Failure } from '../../../src/domain/session.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Resume hours are read from the wall clock of the agent's time zone. */
const IN_UTC = { env: { TZ: 'UTC' } }

function refusal(resetsAt?: number): Failure {
  const limit = { source: 'result', message: 'full', ...(resetsAt !== undefined && { resetsAt }) } as const
  return { kind: 'limit', message: 'full', limit }
}

const isLimited = ({ status }: { status: string }) => status === 'rate_limited'
const isComplete = ({ status }: { status: string }) => status === 'completed'

/** Hours that begin in about three hours, as a setting, and their beginning. */
function hoursLater(): { opens: number; hours: string } {
  const opens = Math.ceil(Date.now() / HOUR) * HOUR + 3 * HOUR
  const two = (n: number) => String(n % 24).padStart(2, '0')
  const hour = new Date(opens).getUTCHours()
  return { opens, hours: `${two(hour)}:00-${two(hour + 1)}:00` }
}

/** Waits until the session has this time, which no event announces. */
async function waitForTime(world: ScriptedWorld, id: string, at: number | null): Promise<void> {
  while ((await world.view(id)).resumes_at !== at) await new Promise(resolve => setImmediate(resolve))
}

test('without a known reset the account is tried after one minute, two, four, and opens with the first answer', async t => {
  const left = { refusals: 4 }
  const agent = scriptedAgent(() => (left.refusals-- > 0 ? { refused: refusal() } : {}))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('first')
  for (const [round, minutes] of [1, 2, 4, 8].entries()) {
    await world.ended(id, round + 1)
    const { body } = await world.call('GET', '/quota')
    const { gate } = body.accounts[0]
    const waits = gate.closed_until - gate.closed_at
    assert.ok(waits >= minutes * MINUTE && waits <= minutes * MINUTE * 1.1, `try ${round + 1} waits ${waits} ms`)
    assert.equal(gate.probes, round + 1)
    const calls = agent.calls()
    world.pass((minutes * MINUTE) / 2)
    assert.equal(agent.calls(), calls, 'the account is not called before its time')
    world.pass(minutes * MINUTE)
  }
  await world.when(id, isComplete)
  const { body } = await world.call('GET', '/quota')
  assert.deepEqual([body.accounts[0].gate.closed_until, body.accounts[0].gate.probes], [null, 0])
})

test('the first answer after a limit, for which all is sent again, counts as lost to the limit, and later ones do not', async t => {
  const used = (inputTokens: number, costUsd: number) =>
    ({ kind: 'usage', inputTokens, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd }) as const
  const agent = scriptedAgent((_prompt, calls) =>
    calls === 0 ? { tells: [used(90, 1)], failure: refusal() } : { tells: [used(390, 0), used(590, 3)] },
  )
  const world = await scriptedWorld(t, agent)
  const id = await world.start('first')
  await world.ended(id, 1)
  world.pass(HOUR)
  await world.when(id, isComplete)
  const { spent } = (await world.call('GET', '/report?since=1h&zone=UTC')).body
  assert.deepEqual(
    [spent.by_purpose.work, spent.by_purpose.limits],
    [
      { tokens: 300, cost_usd: 2 },
      { tokens: 400, cost_usd: 2 },
    ],
  )
  const parts = await world.store.spending.parts([{ scope: 'session', key: id }])
  assert.deepEqual(parts, [{ scope: 'session', key: id, purpose: 'limits', tokens: 400, cost_usd: 2 }])
})

test('sessions.resume_hours: no session goes on by itself outside of them, not even one that a restart finds overdue', async t => {
  const { opens, hours } = hoursLater()
  const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { failure: refusal(Date.now() + 10 * MINUTE) } : {}))
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_RESUME_HOURS: hours })
  const id = await world.start('first', IN_UTC)
  const { resumes_at } = await world.when(id, isLimited)
  assert.equal(resumes_at, opens)
  const calls = agent.calls()
  // The row as it would be if the hours had been set, or the daemon started, only now.
  await world.store.sessions.update(id, { resumes_at: Date.now() })
  world.pass(HOUR)
  await waitForTime(world, id, opens)
  assert.equal(agent.calls(), calls)
  world.pass(opens - Date.now() - HOUR)
  await world.when(id, isComplete)
})

test('sessions.resume_hours: sessions that waited for a login go on when it works again, the second one too', async t => {
  let refused = true
  const agent = scriptedAgent(() => (refused ? { failure: { kind: 'auth', message: 'The login was refused' } } : {}))
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_RESUME_HOURS: hoursLater().hours })
  const ids = [await world.start('first', IN_UTC), await world.start('second', IN_UTC)]
  for (const id of ids) await world.when(id, ({ status, resumes_at }) => status === 'paused' && resumes_at !== null)
  const views = await Promise.all(ids.map(id => world.view(id)))
  const [first, second] = views.toSorted((a, b) => (a.resumes_at ?? 0) - (b.resumes_at ?? 0))
  assert.ok(first?.resumes_at && second?.resumes_at && first.resumes_at < second.resumes_at)
  refused = false
  // The first opens the account. When the time of the second comes, nothing but its own row says what it waited for.
  world.pass(first.resumes_at - Date.now())
  await world.when(first.id, isComplete)
  world.pass(MINUTE)
  await world.when(second.id, isComplete)
})

test('sessions.resume_hours: a session that waits for them says so, and goes on when they are taken back', async t => {
  const { opens, hours } = hoursLater()
  const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { failure: refusal(Date.now() + MINUTE) } : {}))
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_RESUME_HOURS: hours })
  const id = await world.start('first', IN_UTC)
  const { reason, resumes_at } = await world.when(id, isLimited)
  assert.deepEqual([reason, resumes_at], ['full; it goes on in the hours of sessions.resume_hours', opens])
  delete world.settings['PCC_SESSIONS_RESUME_HOURS']
  // The limit itself still counts.
  world.pass(1)
  assert.equal((await world.view(id)).status, 'rate_limited')
  world.pass(2 * MINUTE)
  await world.when(id, isComplete)
})

test('sessions.auto_resume: a session during whose wait it is switched off waits for a person, who can resume it', async t => {
  const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { failure: refusal(Date.now() + MINUTE) } : {}))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('first')
  assert.ok((await world.when(id, isLimited)).resumes_at)
  const calls = agent.calls()
  world.settings['PCC_SESSIONS_AUTO_RESUME'] = 'false'
  world.pass(HOUR)
  await waitForTime(world, id, null)
  assert.equal(agent.calls(), calls)
  assert.equal((await world.view(id)).reason, `full; go on with: pcc resume ${id}`)
  const { kind, body } = (await world.events(id)).at(-1) ?? {}
  assert.deepEqual([kind, /does not go on by itself/.test(JSON.stringify(body))], ['session.noted', true])
  assert.equal((await world.call('POST', `/sessions/${id}/resume`, {})).status, 200)
  await world.when(id, isComplete)
})

for (const onCritical of ['finish', 'pause'])
  test(`a wait for an allowance ends when the settings no longer call it used up (quota.on_critical = ${onCritical})`, async t => {
    const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { used: 0.95 } : {}))
    const world = await scriptedWorld(t, agent, { PCC_QUOTA_ON_CRITICAL: onCritical })
    // One that pauses does so before its last request; one that finishes has a second task, which it does not begin.
    const held = onCritical === 'finish' ? agent.holdAt('last request') : undefined
    const id = await world.start('first')
    const goOn = await held
    if (goOn) await world.call('POST', `/sessions/${id}/tasks`, { task: 'second' })
    goOn?.()
    const { reason, resumes_at } = await world.when(id, isLimited)
    assert.match(reason ?? '', /^the allowance is nearly used up/)
    assert.ok((resumes_at ?? 0) > Date.now() + MINUTE)
    const other = await world.start('third')
    assert.match(
      (await world.when(other, view => view.reason !== null)).reason ?? '',
      onCritical === 'pause'
        ? /^the allowance is nearly used up/
        : /allowance is fresh: 95% of the 5-hour window is used, until 20/,
    )
    world.settings['PCC_QUOTA_CRITICAL_PERCENT'] = '99'
    world.pass(1)
    await world.when(id, isComplete)
  })

for (const [what, path, body] of [
  ['every account', '/quota/', {}],
  ['the session', '', {}],
] as const) {
  test(`while ${what} is held nothing happens when its time comes; once released, it goes on`, async t => {
    const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { failure: refusal(Date.now() + MINUTE) } : {}))
    const world = await scriptedWorld(t, agent)
    const id = await world.start('first')
    await world.when(id, isLimited)
    const hold = (held: boolean) =>
      path === ''
        ? world.call('POST', `/sessions/${id}/hold`, { held })
        : world.call('POST', `${path}${held ? 'hold' : 'release'}`, body)
    assert.equal((await hold(true)).status, 200)
    const calls = agent.calls()
    world.pass(HOUR)
    const other = path === '' ? undefined : await world.start('second')
    if (other) assert.match((await world.when(other, isLimited)).reason ?? '', /held by human/)
    assert.equal(agent.calls(), calls)
    assert.equal((await hold(false)).status, 200)
    for (const session of other ? [id, other] : [id]) await world.when(session, isComplete)
  })
}

for (const [what, status] of [
  ['a pause', 'paused'],
  ['a stop', 'stopped'],
  ['a halt', 'paused'],
] as const) {
  test(`a limit that is met on the way to ${what} closes the account and leaves the session ${status}`, async t => {
    const resetsAt = Date.now() + HOUR
    const agent = scriptedAgent(prompt => (prompt === 'first' ? { failure: refusal(resetsAt) } : {}))
    const world = await scriptedWorld(t, agent)
    const there = agent.holdAt('last request')
    const id = await world.start('first')
    const goOn = await there
    const live = world.supervisor.run(id)
    if (what === 'a pause') assert.equal((await world.call('POST', `/sessions/${id}/pause`, {})).status, 200)
    else if (what === 'a halt') world.supervisor.holdForDisk('only 3 MB are free')
    // An agent that ends before the limit is reported has not met it.
    else if (live) live.control.stopping = 'stopped by a person'
    goOn()
    const { resumes_at } = await world.when(id, view => view.status === status)
    assert.equal(resumes_at !== null, what === 'a halt')
    const { gate } = (await world.call('GET', '/quota')).body.accounts[0]
    assert.ok(gate.closed_until >= resetsAt, 'no other session calls before the reset')
    assert.equal((await world.view(await world.start('second'))).status, 'rate_limited')
    assert.deepEqual(agent.prompts, ['first'])
    assert.equal((await world.events(id)).filter(({ kind }) => kind === 'limit.hit').length, what === 'a stop' ? 0 : 1)
  })
}

test('a session whose time comes while a longer limit has closed the account waits for that limit, without an event', async t => {
  const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? { failure: refusal(Date.now() + HOUR) } : {}))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('first')
  await world.when(id, isLimited)
  const gate = (await world.call('GET', '/quota')).body.accounts[0].gate
  await world.store.transaction(tx => world.store.gates.put({ ...gate, closed_until: Date.now() + 500 }, 0, tx))
  await world.store.sessions.update(id, { resumes_at: Date.now() })
  world.supervisor.wakeWaiting()
  // Nothing else happens that could wake the session: it must have got a time that the waker checks.
  await world.when(id, isComplete)
  assert.equal(agent.prompts.length, 2)
})

for (const [used, atOnce] of [
  [undefined, 4],
  [0.4, 4],
  [0.6, 2],
  [0.86, 1],
  [0.92, 0],
] as const) {
  const level = used === undefined ? 'nothing is known' : `${used * 100} % are used`
  test(`when ${level} of the allowance, ${atOnce} sessions of the account may be at work`, async t => {
    const agent = scriptedAgent(prompt => (prompt === 'first' && used !== undefined ? { used } : {}))
    const world = await scriptedWorld(t, agent, { PCC_SESSIONS_MAX_CONCURRENT: '4' })
    await world.when(await world.start('first'), isComplete)
    const ids: string[] = []
    for (let count = 0; count < 4; count++) {
      const there = agent.holdAt('request')
      ids.push(await world.start(`more ${count}`))
      const view = await world.view(ids.at(-1) ?? '')
      if (count < atOnce) await there
      else assert.deepEqual([view.status, view.queued], ['idle', true], `session ${count}`)
    }
    assert.equal(agent.open(), atOnce)
    if (atOnce < 4) {
      const waiting = await world.view(ids.at(-1) ?? '')
      assert.match(
        waiting.reason ?? '',
        /allowance is fresh: \d+% of the 5-hour window is used, until \S+ \(pcc quota\)/,
      )
    }
  })
}

test('a failure after more than ten minutes of work counts as the first one', async t => {
  const overloaded = { kind: 'overloaded', message: 'overloaded' } as const
  const agent = scriptedAgent((_prompt, calls) => (calls < 10 ? { failure: overloaded } : {}))
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_RETRY_SECONDS: '0' })
  let there = agent.holdAt('last request')
  const id = await world.start('first')
  for (let failures = 1; failures <= 5; failures++) {
    const goOn = await there
    world.time.ahead += 11 * MINUTE
    there = agent.holdAt('last request')
    goOn()
    await world.ended(id, failures)
  }
  ;(await there)()
  await world.when(id, isComplete)
  const reasons = (await world.events(id)).flatMap(event => (event.kind === 'session.ended' ? event.body.reason : []))
  assert.deepEqual(reasons, [...Array(5).fill('overloaded; try 1 of 3 follows'), ''])
})
