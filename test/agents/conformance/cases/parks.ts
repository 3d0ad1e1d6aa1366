import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Park } from '../../../../src/domain/session.ts'
import type { Live } from '../live.ts'
import { pointTest } from '../point.ts'
import type { Call } from '../script.ts'
import { ALLOW, allowing, asking, World } from '../world.ts'

const UNKNOWN = '11111111-1111-4111-8111-111111111111'
const PARK: Park = { park: true, reason: 'nobody is awake' }

/** Parks the first call and checks that the session ends by itself. */
async function parked(t: TestContext, live: Live, calls: Call[]) {
  const { world, say } = await live.enter(t, [
    {
      prompt: 'careful',
      steps: [{ calls }],
      later: [{ prompt: 'you may', steps: [{ calls }, { say: 'Now it is there.' }] }],
    },
  ])
  const asks = asking(
    ({ input }) => (JSON.stringify(input).includes('parked') ? PARK : ALLOW),
    () => PARK,
  )
  const talk = await say('careful', asks)
  const turn = await talk.turn()
  assert.equal(turn.outcome, 'parked')
  assert.equal((await talk.until('ended')).reason, 'closed', 'it closes by itself')
  assert.equal(world.has('parked.txt'), false)
  const vendorId = talk.session.vendorId ?? ''
  await talk.close()
  return { world, asks, turn, vendorId }
}

/** A call that nobody can judge now. */
export function parkCases(live: Live): void {
  const { adapter } = live

  /** The parked call is given up: the answer comes with the next prompt, and then the call is asked about again. */
  async function saidWithNextPrompt(t: TestContext) {
    const { world, asks, turn, vendorId } = await parked(t, live, [{ run: 'touch parked.txt' }])
    assert.deepEqual(turn.parked, { callId: asks.requests[0]?.callId, tool: adapter.tools.run, gone: true })
    await world.model.restart()
    const second = allowing()
    const resumed = await world.talk('you may', { asks: second, resume: { vendorId, fork: false } })
    assert.equal((await resumed.turn()).text, 'Now it is there.')
    assert.deepEqual(second.requests[0]?.input, asks.requests[0]?.input)
    assert.equal(world.has('parked.txt'), true)
  }

  /** The parked call is given up, and the conversation ends with it. */
  async function conversationLost(t: TestContext) {
    const { world, turn, vendorId } = await parked(t, live, [{ run: 'touch parked.txt' }])
    assert.equal(turn.parked?.gone, true)
    assert.equal(await world.driver.conversationState?.(vendorId, world.options()), 'missing')
    const resumed = await world.talk('you may', { resume: { vendorId, fork: false } })
    assert.equal((await resumed.until('ended')).failure?.kind, 'resume_unknown')
  }

  pointTest(adapter, 'park.call', 'a parked call waits without a process, and the same call is asked again on resume', {
    gone: saidWithNextPrompt,
    lost: conversationLost,
    full: async t => {
      const { world, say } = await live.enter(t, [
        { prompt: 'careful', steps: [{ calls: [{ run: 'touch parked.txt' }] }, { say: 'Now it is there.' }] },
      ])
      const first = asking(() => PARK)
      const talk = await say('careful', first)
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
}

/** A question that nobody can answer now. */
export function parkQuestionCases(live: Live): void {
  const { adapter } = live

  pointTest(adapter, 'park.question', 'a parked question is answered on resume', {
    none: () => undefined,
    gone: async t => {
      const { asks, turn } = await parked(t, live, [{ ask: { question: 'Which colour?', options: ['Red', 'Blue'] } }])
      assert.equal(turn.parked?.callId, asks.questions[0]?.callId)
      assert.equal(turn.parked?.gone, true)
    },
    full: async t => {
      const ask = { question: 'Which colour?', options: ['Red', 'Blue'] }
      const { world, say } = await live.enter(t, [
        { prompt: 'paint', steps: [{ calls: [{ ask }] }, { say: 'Painted.' }] },
      ])
      const first = asking(
        () => ALLOW,
        () => PARK,
      )
      const talk = await say('paint', first)
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
}

/** Several calls at once, one of which nobody can judge now. */
export function parkBatchCases(live: Live): void {
  const { adapter } = live

  pointTest(
    adapter,
    'park.batch',
    'of calls made at once the parked one is asked again and the others are not repeated',
    {
      gone: async t => {
        const { world, asks } = await parked(t, live, [{ run: 'echo one >> log.txt' }, { run: 'touch parked.txt' }])
        // Some agents ask about both at once, in any order: a call behind the parked one may be given up with it.
        const isBehind = JSON.stringify(asks.requests[0]?.input).includes('parked')
        if (!isBehind || world.has('log.txt')) assert.equal(world.read('log.txt'), 'one\n')
      },
      lost: async t => {
        const { world } = await parked(t, live, [{ run: 'echo one >> log.txt' }, { run: 'touch parked.txt' }])
        assert.equal(world.read('log.txt'), 'one\n')
      },
      full: async t => {
        const calls = [{ run: 'echo one >> log.txt' }, { run: 'echo two >> log.txt' }]
        const { world, say } = await live.enter(t, [{ prompt: 'both', steps: [{ calls }, { say: 'Both.' }] }])
        const first = asking(({ input }) => (JSON.stringify(input).includes('two') ? PARK : ALLOW))
        const talk = await say('both', first)
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
}

/** A conversation that goes on in two ways. */
export function forkCases(live: Live): void {
  const { adapter } = live

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
        const { world, say } = await live.enter(t, [
          {
            prompt: 'begin',
            steps: [{ say: 'Begun.' }],
            later: [
              { prompt: 'branch', steps: [{ say: 'On the branch.' }] },
              { prompt: 'trunk', steps: [{ say: 'On the trunk.' }] },
            ],
          },
        ])
        const talk = await say('begin')
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
