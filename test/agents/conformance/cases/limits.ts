import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import type { Live } from '../live.ts'
import { checkPoint, pointTest } from '../point.ts'
import type { Fault } from '../script.ts'
import { until, World } from '../world.ts'

/** The agent reports nothing and the turn does not end; it can be stopped all the same. */
export async function triesAgain(t: TestContext, live: Live, fault: Fault) {
  const { world, say, restart } = await live.enter(t, [{ prompt: 'work', steps: [{ fault }] }])
  const talk = await say('work')
  await until(() => world.model.requests() >= 2)
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
  assert.deepEqual(talk.all('limit'), [])
  return { talk, restart }
}

/** A subscription's limit, and texts that look like one. */
export function limitCases(live: Live): void {
  const { adapter } = live

  /** The turn after one that was stopped because it met a limit in silence. */
  async function silentLimit(t: TestContext) {
    // The agent retries at the announced end of the limit.
    const resets = new Date(Date.now() + 1_000).toISOString()
    const { talk, restart } = await triesAgain(t, live, { kind: 'limit', resets })
    const later = [{ prompt: 'go on', steps: [{ say: 'Going on.' }] }]
    await restart([{ prompt: 'work', steps: [{ say: 'Unused.' }], later }])
    await talk.session.prompt('go on')
    const next = await talk.turn()
    assert.deepEqual([next.outcome, next.text], ['completed', 'Going on.'])
    await checkPoint(t, adapter, 'turn.after-failure', {
      full: () => undefined,
      forgets: () => assert.fail('it remembers'),
    })
  }

  async function limited(t: TestContext) {
    const resets = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3_600_000)
    const fault: Fault = { kind: 'limit', resets: resets.toISOString() }
    const goOn = [{ say: 'Going on.' }]
    const later = [{ prompt: 'go on', steps: goOn }]
    // The limit comes with the first request of a session, before any answer of the vendor has reported its windows.
    const world = await World.open(t, adapter, [{ prompt: 'work', steps: [{ fault }], later }], {
      login: 'subscription',
    })
    const talk = await world.talk('work')
    const ended = await talk.turn()
    assert.equal(ended.outcome, 'failed')
    assert.equal(ended.failure?.kind, 'limit')
    assert.deepEqual(talk.all('text'), [], "the agent's own words about the limit are not the model's")
    const limit = ended.failure?.limit ?? assert.fail('a limit says so')
    assert.match(limit.message, /limit|quota/i)

    await world.model.restart([
      { prompt: 'asked this before', steps: goOn },
      { prompt: 'work', steps: [{ say: 'Unused.' }], later },
    ])
    await talk.session.prompt('go on')
    const next = await talk.turn()
    assert.deepEqual([next.outcome, next.text], ['completed', 'Going on.'])
    await checkPoint(t, adapter, 'turn.after-failure', {
      full: () => undefined,
      forgets: () => world.model.hears('asked this before'),
    })
    return { talk, limit, resets: resets.getTime() }
  }

  pointTest(
    adapter,
    'limit.told',
    "a subscription's limit is told with its reset and ends the turn; after it the same process goes on",
    {
      full: async t => {
        const { talk, limit, resets } = await limited(t)
        const rejected = talk.all('limit').find(event => event.status === 'rejected')
        assert.equal(rejected?.window, 'five_hour')
        assert.equal(rejected?.resetsAt, resets)
        const { message: _message, ...told } = limit
        assert.deepEqual(told, { window: 'five_hour', resetsAt: resets, source: 'event' })
      },
      'no-window': async t => {
        const { limit, resets } = await limited(t)
        assert.equal(limit.window, undefined)
        assert.ok(Math.abs((limit.resetsAt ?? 0) - resets) < 90_000, 'to the minute, as it is told in words')
      },
      silent: silentLimit,
      'no-reset': async t => {
        const { limit } = await limited(t)
        assert.equal(limit.resetsAt, undefined)
      },
    },
  )

  pointTest(adapter, 'limit.look-alike', 'an agent that reads, prints and says the words of a limit has met none', {
    full: async t => {
      const words = "You've hit your 5-hour limit · resets 3am (UTC)"
      const { world, say } = await live.enter(t, [
        {
          prompt: 'work',
          steps: [
            { say: words, think: words, calls: [{ run: 'cat limit.txt; cat limit.txt >&2; exit 1' }] },
            { say: words },
          ],
        },
      ])
      writeFileSync(world.path('limit.txt'), `${words}\n{"type":"rate_limit_event"}\n`)
      const talk = await say('work')
      const ended = await talk.turn()
      assert.deepEqual([ended.outcome, ended.text, ended.failure], ['completed', words, undefined])
      assert.deepEqual(
        talk.all('limit').filter(event => event.status === 'rejected'),
        [],
      )
      assert.match(world.model.told(), /5-hour limit/)
    },
  })
}

/** A refusal without a reset time. */
export function refusedForNowCases(live: Live): void {
  const { adapter } = live

  pointTest(adapter, 'limit.without-reset', 'a refusal that says no time is a limit without a reset', {
    silent: async t => void (await triesAgain(t, live, { kind: 'rate', seconds: 1 })),
    'as-a-time': async t => {
      const { say } = await live.enter(t, [{ prompt: 'work', steps: [{ fault: { kind: 'rate' } }] }])
      const ended = await (await say('work')).turn()
      assert.equal(ended.failure?.kind, 'limit')
    },
    full: async t => {
      const fault: Fault = { kind: 'limit', resets: new Date(Date.now() + 3_600_000).toISOString() }
      const { say } = await live.enter(t, [{ prompt: 'work', steps: [{ fault }] }])
      const ended = await (await say('work')).turn()
      assert.equal(ended.failure?.kind, 'limit')
      assert.equal(ended.failure?.limit?.resetsAt, undefined)
      assert.equal(ended.failure?.limit?.source, 'result')
    },
  })
}
