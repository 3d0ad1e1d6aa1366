import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Adapter } from '../adapter.ts'
import type { Live } from '../live.ts'
import { checkPoint, pointTest } from '../point.ts'
import { ALLOW, allowing, asking, DENY, World } from '../world.ts'

/** The events of a turn, and that one turn follows another. */
export function turnCases(live: Live): void {
  const { adapter } = live
  const { tools } = adapter

  test('a turn tells what the agent says, plans, does and spends, and ends as completed', async t => {
    const plan = [
      { text: 'write it', state: 'active' as const },
      { text: 'check it', state: 'pending' as const },
    ]
    const { world, greeted, say } = await live.enter(t, [
      {
        prompt: 'write a note',
        steps: [
          {
            say: 'I will write it.',
            think: 'A note, then.',
            calls: [{ plan }, { write: 'note.txt', content: 'hello' }],
          },
          { say: 'It is written.' },
        ],
      },
    ])
    const asks = allowing()
    const talk = await say('please write a note', asks)
    const ended = await talk.turn()
    assert.equal(ended.outcome, 'completed')
    assert.equal(ended.text, 'It is written.')
    assert.equal(ended.failure, undefined)
    assert.equal(ended.denials, 0)
    // Some agents end every file that they write with a newline.
    assert.equal(world.read('note.txt').trimEnd(), 'hello')

    const started = greeted.all('started')
    assert.equal(greeted.kinds()[0], 'started')
    assert.equal(started.length + talk.all('started').length, 1)
    assert.equal(started[0]?.vendorId, talk.session.vendorId)
    assert.equal(started[0]?.resumed, false)
    await checkPoint(t, adapter, 'turn.text', {
      full: () =>
        assert.deepEqual(
          talk.all('text').map(event => event.text),
          ['I will write it.', 'It is written.'],
        ),
    })
    const thoughts = talk.all('thinking').map(event => event.text)
    await checkPoint(t, adapter, 'turn.thinking', {
      full: () => assert.deepEqual(thoughts, ['A note, then.']),
      untold: () => assert.deepEqual(thoughts, []),
    })
    await checkPoint(t, adapter, 'turn.plan', {
      full: () => assert.deepEqual(talk.all('plan').at(-1)?.items, plan),
      untold: () => assert.deepEqual(talk.all('plan'), []),
    })

    await checkPoint(t, adapter, 'turn.calls', {
      full: () => {
        const call = talk.all('tool_request').find(event => event.tool === tools.write)
        assert.ok(call)
        const asked = asks.requests.find(request => request.callId === call.callId)
        assert.deepEqual(asked?.input, call.input, 'what was asked is what the agent wants to do')
        assert.equal(asked?.cwd, world.cwd)
        assert.equal(talk.all('tool_result').find(event => event.callId === call.callId)?.ok, true)
        assert.equal(asks.requests.length, talk.all('tool_request').length, 'every call was asked')
      },
    })

    const usage = talk.all('usage').at(-1)
    await checkPoint(t, adapter, 'turn.usage', {
      full: () => assert.ok(usage && usage.inputTokens > 0 && usage.outputTokens > 0),
      untold: () => assert.equal(usage?.inputTokens ?? 0, 0),
    })
    await checkPoint(t, adapter, 'turn.cost', {
      full: () => assert.ok(usage && usage.costUsd > 0),
      untold: () => assert.equal(usage?.costUsd ?? 0, 0),
    })
    await checkPoint(t, adapter, 'turn.context', {
      full: () => assert.ok(usage?.contextTokens && (usage.contextWindow ?? 0) > usage.contextTokens),
      untold: () => assert.equal(usage?.contextTokens, undefined),
    })
    await checkPoint(t, adapter, 'turn.rounds', { full: () => assert.equal(ended.turns, 2) })
  })

  pointTest(adapter, 'turn.every-call-asked', 'a command that only reads is asked like every other', {
    full: async t => {
      const { asks, talk } = await reading(t)
      assert.equal(asks.requests.length, 1)
      assert.equal(talk.all('tool_request').length, 1)
    },
    'reads-run': async t => {
      const { asks, talk } = await reading(t)
      assert.equal(asks.requests.length, 0)
      assert.equal(talk.all('tool_request').length, 1, 'it is seen all the same')
    },
  })

  async function reading(t: TestContext) {
    const { world, say } = await live.enter(t, [
      { prompt: 'look', steps: [{ calls: [{ run: 'cat README.md' }] }, { say: 'Read.' }] },
    ])
    const asks = allowing()
    const talk = await say('look at it', asks)
    assert.equal((await talk.turn()).outcome, 'completed')
    await world.model.hears('# sample')
    return { asks, talk }
  }

  test('a refused call does not run, the model learns why and goes on', async t => {
    const { world, say } = await live.enter(t, [
      { prompt: 'try', steps: [{ calls: [{ run: 'touch forbidden.txt' }] }, { say: 'Then I leave it.' }] },
    ])
    const talk = await say(
      'try it',
      asking(() => ({ ...DENY, reason: 'never in this house' })),
    )
    const ended = await talk.turn()
    await checkPoint(t, adapter, 'refusal.stops', {
      full: () => {
        assert.equal(ended.outcome, 'completed')
        assert.equal(ended.text, 'Then I leave it.')
        assert.equal(ended.denials, 1)
        assert.equal(talk.all('tool_result')[0]?.ok, false)
        assert.equal(world.has('forbidden.txt'), false)
      },
    })
    await checkPoint(t, adapter, 'refusal.explained', {
      full: () => world.model.hears('never in this house'),
      unexplained: () => assert.doesNotMatch(world.model.told(), /never in this house/),
    })
  })

  async function threeThings(t: TestContext) {
    const calls = ['one', 'two', 'three'].map(name => ({ run: `touch ${name}.txt` }))
    const { world, say } = await live.enter(t, [{ prompt: 'three things', steps: [{ calls }, { say: 'Done.' }] }])
    const asks = asking(({ input }) => (JSON.stringify(input).includes('two.txt') ? DENY : ALLOW))
    const talk = await say('do three things', asks)
    assert.equal((await talk.turn()).outcome, 'completed')
    return { asks, talk, made: ['one.txt', 'two.txt', 'three.txt'].map(name => world.has(name)) }
  }

  pointTest(adapter, 'refusal.parallel', 'calls made at once are asked one by one, and each gets its own verdict', {
    full: async t => {
      const { asks, talk, made } = await threeThings(t)
      assert.equal(new Set(asks.requests.map(request => request.callId)).size, 3)
      assert.deepEqual(made, [true, false, true])
      assert.equal(talk.all('tool_result').filter(event => event.ok).length, 2)
    },
    'all-fall': async t => {
      const { made } = await threeThings(t)
      assert.equal(made[1], false)
      assert.equal(made[2], false)
    },
  })

  async function withHelper(t: TestContext) {
    const { world, say } = await live.enter(t, [
      {
        prompt: 'send a helper',
        steps: [{ calls: [{ delegate: 'Make the helper file.' }] }, { say: 'The helper is done.' }],
      },
      {
        prompt: 'Make the helper file',
        steps: [
          { say: 'On it.', calls: [{ run: 'touch helper.txt' }, { run: 'touch refused.txt' }] },
          { say: 'Made.' },
        ],
      },
    ])
    const asks = asking(({ input }) => (JSON.stringify(input).includes('refused') ? DENY : ALLOW))
    const talk = await say('send a helper', asks)
    const ended = await talk.turn()
    return { world, asks, talk, ended }
  }

  pointTest(adapter, 'subagent', "a subagent's calls are asked with its id, and its words carry it", {
    full: async t => {
      const { world, asks, talk, ended } = await withHelper(t)
      assert.equal(ended.outcome, 'completed')
      assert.equal(ended.text, 'The helper is done.')
      const [outer, ...inner] = asks.requests
      assert.equal(outer?.tool, tools.delegate)
      assert.equal(outer?.agentId, undefined)
      assert.deepEqual(
        inner.map(request => request.tool),
        [tools.run, tools.run],
      )
      const agentId = inner[0]?.agentId
      assert.ok(agentId)
      assert.ok(talk.all('text').some(event => event.text === 'On it.' && event.agentId === agentId))
      assert.ok(talk.all('tool_request').some(event => event.tool === tools.run && event.agentId === agentId))
      assert.equal(world.has('helper.txt'), true)
      assert.equal(world.has('refused.txt'), false)
    },
    'no-words': async t => {
      const { world, asks, talk, ended } = await withHelper(t)
      assert.equal(ended.text, 'The helper is done.')
      assert.ok(asks.requests.slice(1).every(request => request.agentId !== undefined))
      assert.ok(!talk.all('text').some(event => event.text === 'On it.'))
      assert.deepEqual([world.has('helper.txt'), world.has('refused.txt')], [true, false])
    },
    'no-id': async t => {
      const { world, asks, ended } = await withHelper(t)
      assert.equal(ended.text, 'The helper is done.')
      assert.ok(asks.requests.length >= 3)
      assert.ok(asks.requests.every(request => request.agentId === undefined))
      assert.deepEqual([world.has('helper.txt'), world.has('refused.txt')], [true, false])
    },
    none: async t => {
      const { world } = await withHelper(t)
      assert.equal(world.has('helper.txt'), false)
    },
  })

  pointTest(adapter, 'turn.next', 'the next prompt goes to the same process, and the model may be another by then', {
    full: async t => {
      const { world, say } = await live.enter(t, [
        {
          prompt: 'first',
          steps: [{ say: 'One.' }],
          later: [{ prompt: 'second', steps: [{ calls: [{ run: 'touch second.txt' }] }, { say: 'Two.' }] }],
        },
      ])
      const talk = await say('first')
      assert.equal((await talk.turn()).text, 'One.')
      const pid = talk.session.pid
      assert.ok(pid)
      await world.model.restart()
      await talk.session.prompt('second')
      assert.equal((await talk.turn()).text, 'Two.')
      assert.equal(talk.session.pid, pid)
      assert.equal(world.has('second.txt'), true)
      assert.equal(talk.all('turn_ended').length, 2)
    },
  })
}

/** Every turn has an end. */
export function capCases(adapter: Adapter): void {
  pointTest(adapter, 'turn.cap', 'a turn that reaches the cap on rounds ends as capped', {
    full: async t => {
      const steps = Array.from({ length: 5 }, (_, at) => ({ calls: [{ run: `echo ${at}` }] }))
      const world = await World.open(t, adapter, [{ prompt: 'endless', steps }])
      const talk = await world.talk('endless', { maxTurns: 2 })
      assert.equal((await talk.turn()).outcome, 'capped')
    },
  })
}
