import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Park } from '../../../src/domain/session.ts'
import type { Adapter } from './adapter.ts'
import { pointTest } from './point.ts'
import type { Call, Step } from './script.ts'
import { ALLOW, allowing, asking, until, World } from './world.ts'

const UNKNOWN = '11111111-1111-4111-8111-111111111111'
const PARK: Park = { park: true, reason: 'nobody is awake' }

/** Pause, interrupt, park, resume and fork. */
export function stopCases(adapter: Adapter): void {
  const { tools } = adapter

  pointTest(adapter, 'stop.pause', 'a pause lets the tool in flight finish, and the next prompt goes on', {
    forgets: async t => {
      const world = await World.open(t, adapter, [
        { prompt: 'go on', steps: [{ calls: [{ run: 'touch third.txt' }] }, { say: 'Went on.' }] },
        {
          prompt: 'long work',
          steps: [
            { calls: [{ run: 'touch begun; sleep 0.7; touch first.txt' }] },
            { calls: [{ run: 'touch second.txt' }] },
            { say: 'All done.' },
          ],
        },
      ])
      const talk = await world.talk('long work')
      await talk.until('tool_request')
      await talk.session.pause()
      assert.equal((await talk.turn()).outcome, 'paused')
      assert.deepEqual([world.has('first.txt'), world.has('second.txt')], [true, false])
      await world.model.restart()
      await talk.session.prompt('go on')
      assert.equal((await talk.turn()).text, 'Went on.')
      await world.model.hears('long work')
    },
    full: async t => {
      const world = await World.open(t, adapter, [
        {
          prompt: 'long work',
          steps: [
            { calls: [{ run: 'touch begun; sleep 0.7; touch first.txt' }] },
            { calls: [{ run: 'touch second.txt' }] },
            { say: 'All done.' },
          ],
          later: [{ prompt: 'go on', steps: [{ calls: [{ run: 'touch third.txt' }] }, { say: 'Went on.' }] }],
        },
      ])
      const talk = await world.talk('long work')
      await talk.until('tool_request')
      await talk.session.pause()
      const paused = await talk.turn()
      assert.equal(paused.outcome, 'paused')
      assert.equal(world.has('first.txt'), true)
      assert.equal(world.has('second.txt'), false)
      await world.model.restart()
      await talk.session.prompt('go on')
      assert.equal((await talk.turn()).text, 'Went on.')
      assert.equal(world.has('third.txt'), true)
    },
  })

  pointTest(adapter, 'stop.pause-thinking', 'a pause while the model thinks ends the turn at the next possible point', {
    full: async t => {
      const world = await World.open(t, adapter, [
        {
          prompt: 'think',
          steps: [
            { delayMs: 500, calls: [{ run: 'touch one.txt' }] },
            { calls: [{ run: 'touch two.txt' }] },
            { say: 'End.' },
          ],
        },
      ])
      const talk = await world.talk('think')
      await talk.until('started')
      await talk.session.pause()
      assert.equal((await talk.turn()).outcome, 'paused')
      assert.equal(world.has('two.txt'), false)
    },
  })

  pointTest(
    adapter,
    'stop.pause-subagent',
    "a pause while a subagent works lets the subagent's tool finish and stops all of it",
    {
      none: () => undefined,
      full: async t => {
        const world = await World.open(t, adapter, [
          {
            prompt: 'send a helper',
            steps: [{ calls: [{ delegate: 'Work long.' }] }, { calls: [{ run: 'touch main.txt' }] }, { say: 'End.' }],
          },
          {
            prompt: 'Work long',
            steps: [
              { calls: [{ run: 'touch begun; sleep 0.7; touch first.txt' }] },
              { calls: [{ run: 'touch second.txt' }] },
              { say: 'Made.' },
            ],
          },
        ])
        const talk = await world.talk('send a helper')
        await until(() => world.has('begun'))
        await talk.session.pause()
        assert.equal((await talk.turn()).outcome, 'paused')
        assert.deepEqual(
          ['first.txt', 'second.txt', 'main.txt'].map(name => world.has(name)),
          [true, false, false],
        )
      },
    },
  )

  pointTest(
    adapter,
    'stop.prompt-in-turn',
    'a prompt in the middle of a turn is heard by the model, and no end of a turn is lost',
    {
      after: async t => {
        const world = await World.open(t, adapter, [
          {
            prompt: 'work',
            steps: [{ calls: [{ run: 'touch begun; sleep 0.7' }] }, { say: 'Done first.' }],
            later: [{ prompt: 'mind the gap', steps: [{ say: 'I heard you.' }] }],
          },
        ])
        const talk = await world.talk('work')
        await until(() => world.has('begun'))
        await talk.session.prompt('mind the gap')
        assert.equal((await talk.turn()).text, 'Done first.')
        assert.equal((await talk.turn()).text, 'I heard you.')
      },
      full: async t => {
        const world = await World.open(t, adapter, [
          { prompt: 'work', steps: [{ calls: [{ run: 'touch begun; sleep 0.7' }] }, { say: 'I heard you.' }] },
        ])
        const talk = await world.talk('work')
        await until(() => world.has('begun'))
        await talk.session.prompt('mind the gap')
        const ended = await talk.turn()
        assert.equal(ended.outcome, 'completed')
        assert.equal(ended.text, 'I heard you.')
        await world.model.hears('mind the gap')
      },
    },
  )

  pointTest(adapter, 'stop.interrupt', 'an interrupt kills the running tool at once, and the next prompt goes on', {
    full: async t => {
      const world = await World.open(t, adapter, [
        {
          prompt: 'sleep',
          steps: [{ calls: [{ run: 'touch begun; sleep 300; touch never.txt' }] }, { say: 'Slept.' }],
          later: [{ prompt: 'go on', steps: [{ say: 'Awake.' }] }],
        },
      ])
      const talk = await world.talk('sleep')
      await talk.until('tool_request')
      await until(() => world.has('begun'))
      await talk.session.interrupt()
      const ended = await talk.turn()
      assert.equal(ended.outcome, 'interrupted')
      assert.equal(ended.failure, undefined)
      await world.model.restart()
      await talk.session.prompt('go on')
      assert.equal((await talk.turn()).text, 'Awake.')
      assert.equal(world.has('never.txt'), false)
    },
  })

  pointTest(adapter, 'stop.interrupt-ask', 'an interrupt calls off an open ask', {
    full: async t => {
      const world = await World.open(t, adapter, [
        { prompt: 'try', steps: [{ calls: [{ run: 'touch slipped.txt' }] }, { say: 'Went on.' }] },
      ])
      const asked = Promise.withResolvers<AbortSignal>()
      const asks = asking((_request, signal) => {
        asked.resolve(signal)
        return new Promise(() => undefined)
      })
      const talk = await world.talk('try it', { asks })
      const signal = await asked.promise
      await talk.session.interrupt()
      assert.equal((await talk.turn()).outcome, 'interrupted')
      assert.equal(signal.aborted, true)
      assert.equal(world.has('slipped.txt'), false)
    },
  })

  /** Parks the first call and sees that the session is gone by itself. */
  async function parked(t: TestContext, calls: Call[], steps: Step[] = []) {
    const world = await World.open(t, adapter, [
      {
        prompt: 'careful',
        steps: [{ calls }, ...steps],
        later: [{ prompt: 'you may', steps: [{ calls }, { say: 'Now it is there.' }] }],
      },
    ])
    const asks = asking(
      ({ input }) => (JSON.stringify(input).includes('parked') ? PARK : ALLOW),
      () => PARK,
    )
    const talk = await world.talk('careful', { asks })
    const turn = await talk.turn()
    assert.equal(turn.outcome, 'parked')
    assert.equal((await talk.until('ended')).reason, 'closed', 'it closes by itself')
    assert.equal(world.has('parked.txt'), false)
    const vendorId = talk.session.vendorId ?? ''
    await talk.close()
    return { world, asks, turn, vendorId }
  }

  /** What was parked is given up: what is said to it comes with the next prompt, and then it is asked anew. */
  async function saidWithNextPrompt(t: TestContext) {
    const { world, asks, turn, vendorId } = await parked(t, [{ run: 'touch parked.txt' }])
    assert.deepEqual(turn.parked, { callId: asks.requests[0]?.callId, tool: tools.run, gone: true })
    await world.model.restart()
    const second = allowing()
    const resumed = await world.talk('you may', { asks: second, resume: { vendorId, fork: false } })
    assert.equal((await resumed.turn()).text, 'Now it is there.')
    assert.deepEqual(second.requests[0]?.input, asks.requests[0]?.input)
    assert.equal(world.has('parked.txt'), true)
  }

  /** As well, and the conversation is over with it. */
  async function conversationLost(t: TestContext) {
    const { world, turn, vendorId } = await parked(t, [{ run: 'touch parked.txt' }])
    assert.equal(turn.parked?.gone, true)
    assert.equal(await world.driver.conversationState?.(vendorId, world.options()), 'missing')
    const resumed = await world.talk('you may', { resume: { vendorId, fork: false } })
    assert.equal((await resumed.until('ended')).failure?.kind, 'resume_unknown')
  }

  pointTest(adapter, 'park.call', 'a parked call waits without a process, and the same call is asked again on resume', {
    gone: saidWithNextPrompt,
    lost: conversationLost,
    full: async t => {
      const world = await World.open(t, adapter, [
        { prompt: 'careful', steps: [{ calls: [{ run: 'touch parked.txt' }] }, { say: 'Now it is there.' }] },
      ])
      const first = asking(() => PARK)
      const talk = await world.talk('careful', { asks: first })
      const parked = await talk.turn()
      assert.equal(parked.outcome, 'parked')
      assert.equal(parked.parked?.callId, first.requests[0]?.callId)
      assert.equal((await talk.until('ended')).reason, 'closed', 'it closes by itself')
      assert.equal(world.has('parked.txt'), false)
      const vendorId = talk.session.vendorId ?? ''
      await talk.close()

      await world.model.restart()
      const second = allowing()
      const resumed = await world.talk(undefined, { asks: second, resume: { vendorId, fork: false } })
      assert.equal((await resumed.turn()).text, 'Now it is there.')
      assert.equal(second.requests[0]?.callId, first.requests[0]?.callId)
      assert.deepEqual(second.requests[0]?.input, first.requests[0]?.input)
      assert.equal(resumed.all('tool_request')[0]?.callId, first.requests[0]?.callId)
      assert.equal(resumed.session.vendorId, vendorId)
      assert.equal(world.has('parked.txt'), true)
    },
  })

  pointTest(adapter, 'park.question', 'a parked question is answered on resume', {
    none: () => undefined,
    gone: async t => {
      const { asks, turn } = await parked(t, [{ ask: { question: 'Which colour?', options: ['Red', 'Blue'] } }])
      assert.equal(turn.parked?.callId, asks.questions[0]?.callId)
      assert.equal(turn.parked?.gone, true)
    },
    full: async t => {
      const ask = { question: 'Which colour?', options: ['Red', 'Blue'] }
      const world = await World.open(t, adapter, [
        { prompt: 'paint', steps: [{ calls: [{ ask }] }, { say: 'Painted.' }] },
      ])
      const first = asking(
        () => ALLOW,
        () => PARK,
      )
      const talk = await world.talk('paint', { asks: first })
      assert.equal((await talk.turn()).outcome, 'parked')
      const vendorId = talk.session.vendorId ?? ''
      await talk.close()

      await world.model.restart()
      const second = asking(
        () => ALLOW,
        () => ({ answers: { [ask.question]: 'Blue' }, by: 'test' }),
      )
      const resumed = await world.talk(undefined, { asks: second, resume: { vendorId, fork: false } })
      assert.equal((await resumed.turn()).text, 'Painted.')
      assert.equal(second.questions[0]?.callId, first.questions[0]?.callId)
      assert.match(world.model.told(), /Blue/)
    },
  })

  pointTest(
    adapter,
    'park.batch',
    'of calls made at once the parked one is asked again and the others are not repeated',
    {
      gone: async t => {
        const { world } = await parked(t, [{ run: 'echo one >> log.txt' }, { run: 'touch parked.txt' }])
        assert.equal(world.read('log.txt'), 'one\n')
      },
      lost: async t => {
        const { world } = await parked(t, [{ run: 'echo one >> log.txt' }, { run: 'touch parked.txt' }])
        assert.equal(world.read('log.txt'), 'one\n')
      },
      full: async t => {
        const calls = [{ run: 'echo one >> log.txt' }, { run: 'echo two >> log.txt' }]
        const world = await World.open(t, adapter, [{ prompt: 'both', steps: [{ calls }, { say: 'Both.' }] }])
        const first = asking(({ input }) => (JSON.stringify(input).includes('two') ? PARK : ALLOW))
        const talk = await world.talk('both', { asks: first })
        assert.equal((await talk.turn()).outcome, 'parked')
        const vendorId = talk.session.vendorId ?? ''
        await talk.close()
        assert.equal(talk.all('turn_ended').length, 1)

        await world.model.restart()
        const resumed = await world.talk(undefined, { resume: { vendorId, fork: false } })
        assert.equal((await resumed.turn()).text, 'Both.')
        assert.equal(world.read('log.txt'), 'one\ntwo\n')
      },
    },
  )

  pointTest(
    adapter,
    'resume.fork',
    'a fork has an id of its own and the whole past, and leaves the original as it was',
    {
      none: async t => {
        const world = await World.open(t, adapter, [{ prompt: 'begin', steps: [{ say: 'Begun.' }] }])
        const fork = await world.talk('begin', { resume: { vendorId: UNKNOWN, fork: true } })
        assert.equal((await fork.until('ended')).failure?.kind, 'resume_unknown')
      },
      full: async t => {
        const world = await World.open(t, adapter, [
          {
            prompt: 'begin',
            steps: [{ say: 'Begun.' }],
            later: [
              { prompt: 'branch', steps: [{ say: 'On the branch.' }] },
              { prompt: 'trunk', steps: [{ say: 'On the trunk.' }] },
            ],
          },
        ])
        const talk = await world.talk('begin')
        await talk.turn()
        const vendorId = talk.session.vendorId ?? ''
        await talk.close()

        await world.model.restart()
        const fork = await world.talk('branch', { resume: { vendorId, fork: true } })
        assert.equal((await fork.turn()).text, 'On the branch.')
        assert.equal(fork.all('started')[0]?.resumed, true)
        assert.notEqual(fork.session.vendorId, vendorId)
        await fork.close()

        await world.model.restart()
        const trunk = await world.talk('trunk', { resume: { vendorId, fork: false } })
        assert.equal((await trunk.turn()).text, 'On the trunk.')
        assert.equal(trunk.session.vendorId, vendorId)
      },
    },
  )
}
