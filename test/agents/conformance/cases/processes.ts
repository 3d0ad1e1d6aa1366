import assert from 'node:assert/strict'
import { sessionMarker } from '../../../../src/base/process/marker.ts'
import { findMarked } from '../../../../src/base/process/sweep.ts'
import type { Adapter } from '../adapter.ts'
import type { Live } from '../live.ts'
import { partTest, pointTest } from '../point.ts'
import { allowing, asking, DENY, until, World } from '../world.ts'

const CANARIES = ['PCC_HOME', 'AWS_SECRET_ACCESS_KEY', 'GITHUB_TOKEN', 'DATABASE_URL', 'CLAUDE_CODE_CANARY']
/** The extra environment of the agent of these points. */
export const GIVEN = { GIVEN_TO_IT: 'yes' }

/** What an agent sees of our environment. */
export function environmentCases(live: Live): void {
  const { adapter } = live

  partTest(adapter, 'process.environment', "nothing of our own environment reaches the agent's tools", async t => {
    for (const name of CANARIES) process.env[name] = `leaked-${name}`
    t.after(() => {
      for (const name of CANARIES) delete process.env[name]
    })
    // An agent that is already running was started without these variables.
    await live.close()
    const { world, say } = await live.enter(t, [
      { prompt: 'environment', steps: [{ calls: [{ run: 'env > env.txt' }] }, { say: 'Done.' }] },
    ])
    const talk = await say('environment')
    assert.equal((await talk.turn()).outcome, 'completed')
    const seen = world.read('env.txt')
    assert.doesNotMatch(seen, /leaked-/)
    assert.match(seen, /^GIVEN_TO_IT=yes$/m)
    assert.match(seen, new RegExp(`^PCC_SESSION_MARK=${talk.marker}$`, 'm'))
  })
}

/** No process of its tools is left. */
export function leftoverCases(live: Live, isolation: 'marker' | 'auto'): void {
  const { adapter } = live

  partTest(
    adapter,
    'process.nothing-left',
    `nothing a tool leaves behind is alive after the close (isolation ${isolation})`,
    async t => {
      const command = [
        'setsid sleep 611 & ',
        '(setsid sh -c "sleep 612 & sleep 613" > /dev/null 2>&1 &) ; ',
        'nohup sleep 614 > /dev/null 2>&1 & ',
        'touch left.txt',
      ].join('')
      const { world, say } = await live.enter(t, [
        { prompt: 'leave', steps: [{ calls: [{ run: command }] }, { say: 'Left some.' }] },
      ])
      const talk = await say('leave some')
      const way = adapter.manifest.departs['process.nothing-left']
      const isWaitedFor = way === 'waits'
      if (isWaitedFor) {
        await talk.until('tool_request')
        await until(() => world.has('left.txt'))
      } else assert.equal((await talk.turn()).outcome, 'completed')
      assert.equal(world.has('left.txt'), true)
      const alive = (await findMarked(sessionMarker(talk.marker))).map(one => one.command)
      assert.equal(
        alive.some(one => one.includes('sleep 61')),
        way !== 'ends',
        `what was left: ${alive.join('; ')}`,
      )
      await talk.close()
      assert.deepEqual(await findMarked(sessionMarker(talk.marker)), [])
      return way === undefined ? undefined : 'degraded'
    },
  )
}

/** Closing ends what runs. */
export function closeCases(live: Live): void {
  const { adapter } = live

  partTest(
    adapter,
    'process.close',
    'closing in the middle of a tool kills it, tells `ended` last, and may be done twice',
    async t => {
      const { say } = await live.enter(t, [
        { prompt: 'sleep', steps: [{ calls: [{ run: 'sleep 300' }] }, { say: 'Slept.' }] },
      ])
      const talk = await say('sleep')
      await talk.until('tool_request')
      await Promise.all([talk.session[Symbol.asyncDispose](), talk.session[Symbol.asyncDispose]()])
      await talk.close()
      assert.equal(talk.all('ended')[0]?.reason, 'closed')
      assert.equal(talk.all('turn_ended')[0]?.outcome, 'interrupted')
      await assert.rejects(talk.session.prompt('more'), { code: 'session_over' })
      await talk.session.pause()
      await talk.session.interrupt()
    },
  )
}

/** The same with `await using`. */
export function disposeCases(live: Live): void {
  const { adapter } = live

  partTest(adapter, 'process.close', '`await using` closes', async t => {
    const { say } = await live.enter(t, [{ prompt: 'hello', steps: [{ say: 'Hello.' }] }])
    const talk = await say('hello')
    {
      await using _session = talk.session
      await talk.turn()
      assert.notDeepEqual(await findMarked(sessionMarker(talk.marker)), [])
    }
    assert.deepEqual(await findMarked(sessionMarker(talk.marker)), [])
    await talk.close()
  })
}

/** Processes that are started ahead of time, if any. */
export function warmCases(adapter: Adapter): void {
  if (adapter.manifest.departs.warm === undefined) warmProcessCases(adapter)
  else
    pointTest(adapter, 'warm', 'warm', {
      full: () => undefined,
      none: async t => {
        const world = await World.open(t, adapter, [{ prompt: 'x', steps: [{ say: 'x' }] }])
        const marker = 'no-process-of-the-test'
        await world.driver.warm(world.options({ marker }))
        assert.deepEqual(await findMarked(sessionMarker(marker)), [])
      },
    })
}

/** Processes that serve several sessions, one after the other, if any. */
export function reuseCases(adapter: Adapter): void {
  const scripts = [
    { prompt: 'first', steps: [{ calls: [{ write: 'first.txt', content: 'x' }] }, { say: 'First.' }] },
    { prompt: 'second', steps: [{ calls: [{ write: 'second.txt', content: 'x' }] }, { say: 'Second.' }] },
  ]
  pointTest(adapter, 'reuse', 'a process that is left to the next session begins a new conversation with its asks', {
    full: async t => {
      const world = await World.open(t, adapter, scripts)
      const marker = 'reused-process-of-the-test'
      const isolation = 'namespace'
      const first = await world.talk('first', { marker, isolation })
      assert.equal((await first.turn()).outcome, 'completed')
      const asks = asking(() => DENY)
      const { pid, vendorId } = first.session
      assert.equal(await first.session.release?.(), undefined)
      await first.until('ended')
      const second = await world.talk('second', { marker, isolation, id: 's-000002', asks })
      assert.equal((await second.turn()).outcome, 'completed')
      assert.equal(second.session.pid, pid)
      assert.notEqual(second.session.vendorId, vendorId)
      assert.deepEqual([world.has('first.txt'), world.has('second.txt'), asks.requests.length], [true, false, 1])
      assert.equal(second.session.served, 1)
      await second.close()
    },
    none: async t => {
      const world = await World.open(t, adapter, scripts)
      const { session } = await world.talk('first')
      assert.equal(session.release, undefined)
    },
  })
}

function warmProcessCases(adapter: Adapter): void {
  partTest(
    adapter,
    'warm',
    'a warm process is taken by the session it fits, with the asks of that session',
    async t => {
      const world = await World.open(t, adapter, [
        { prompt: 'warm', steps: [{ calls: [{ run: 'touch warm.txt' }] }, { say: 'Warm.' }] },
      ])
      const marker = 'warm-process-of-the-test'
      await world.driver.warm(world.options({ marker, asks: allowing() }))
      const [waiting] = await findMarked(sessionMarker(marker))
      assert.ok(waiting)
      const talk = await world.talk('warm', { marker, id: 's-000002', asks: asking(() => DENY) })
      assert.equal((await talk.turn()).outcome, 'completed')
      assert.equal(talk.session.pid, waiting.pid)
      assert.equal(world.has('warm.txt'), false, 'the asks of who took it count')
    },
  )

  partTest(adapter, 'warm', 'a warm process that has died is not used', async t => {
    const world = await World.open(t, adapter, [{ prompt: 'hello', steps: [{ say: 'Hello.' }] }])
    const marker = 'dead-process-of-the-test'
    await world.driver.warm(world.options({ marker }))
    const [dead] = await findMarked(sessionMarker(marker))
    assert.ok(dead)
    process.kill(-dead.pid, 'SIGKILL')
    // A kill returns before its victim is gone; only the system knows when it is.
    for (const deadline = Date.now() + 60_000; (await findMarked(sessionMarker(marker))).length > 0; )
      assert.ok(Date.now() < deadline, 'it did not die')
    const talk = await world.talk('hello', { marker })
    assert.equal((await talk.turn()).text, 'Hello.')
    assert.notEqual(talk.session.pid, dead.pid)
  })

  partTest(
    adapter,
    'warm',
    'a warm process that does not fit is not used, and does not harm the session when it ends',
    async t => {
      const world = await World.open(t, adapter, [
        { prompt: 'hello', steps: [{ say: 'Hello.' }], later: [{ prompt: 'again', steps: [{ say: 'Again.' }] }] },
      ])
      const marker = 'same-marker-of-the-test'
      const [other, env] = ['other-marker-of-the-test', { ...world.options().env, ONE_MORE: '1' }]
      await Promise.all([
        world.driver.warm(world.options({ marker, maxTurns: 7 })),
        world.driver.warm(world.options({ marker: other, env })),
      ])
      const warm = (await findMarked(sessionMarker(marker))).map(one => one.pid)
      const talk = await world.talk('hello', { marker })
      assert.equal((await talk.turn()).text, 'Hello.')
      assert.ok(talk.session.pid !== undefined && !warm.includes(talk.session.pid))
      assert.notDeepEqual(await findMarked(sessionMarker(other)), [])
      await world.driver.close()
      assert.deepEqual(await findMarked(sessionMarker(other)), [])
      await talk.session.prompt('again')
      assert.equal((await talk.turn()).text, 'Again.')
    },
  )

  partTest(adapter, 'warm', 'a warm process that nobody takes is ended after its time', async t => {
    const world = await World.open(t, adapter, [{ prompt: 'x', steps: [{ say: 'x' }] }], { driver: { warmForMs: 1 } })
    const marker = 'late-process-of-the-test'
    await world.driver.warm(world.options({ marker }))
    await world.driver.close()
    assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  })
}
