import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Adapter } from './adapter.ts'
import { ALLOW, allowing, asking, DENY, World } from './world.ts'

/** What a turn tells, and that one follows another. */
export function turnCases(adapter: Adapter): void {
  const { tools } = adapter

  test('a turn tells what the agent says, plans, does and spends, and ends as completed', async t => {
    const plan = [
      { text: 'write it', state: 'active' as const },
      { text: 'check it', state: 'pending' as const },
    ]
    const world = await World.open(t, adapter, [
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
    const talk = await world.talk('please write a note', { asks })
    const ended = await talk.turn()
    assert.equal(ended.outcome, 'completed')
    assert.equal(ended.text, 'It is written.')
    assert.equal(ended.failure, undefined)
    assert.equal(ended.denials, 0)
    assert.equal(world.read('note.txt'), 'hello')

    const started = talk.all('started')
    assert.equal(talk.kinds()[0], 'started')
    assert.equal(started.length, 1)
    assert.equal(started[0]?.vendorId, talk.session.vendorId)
    assert.equal(started[0]?.resumed, false)
    assert.deepEqual(
      talk.all('text').map(event => event.text),
      ['I will write it.', 'It is written.'],
    )
    assert.deepEqual(
      talk.all('thinking').map(event => event.text),
      ['A note, then.'],
    )
    assert.deepEqual(talk.all('plan').at(-1)?.items, plan)

    const call = talk.all('tool_request').find(event => event.tool === tools.write)
    assert.ok(call)
    const asked = asks.requests.find(request => request.callId === call.callId)
    assert.deepEqual(asked?.input, call.input, 'what was asked is what the agent wants to do')
    assert.equal(asked?.cwd, world.cwd)
    assert.equal(talk.all('tool_result').find(event => event.callId === call.callId)?.ok, true)
    assert.equal(asks.requests.length, talk.all('tool_request').length, 'every call was asked')

    const usage = talk.all('usage').at(-1)
    assert.ok(usage && usage.inputTokens > 0 && usage.outputTokens > 0 && usage.costUsd > 0)
    assert.ok((usage.contextTokens ?? 0) > 0 && (usage.contextWindow ?? 0) > (usage.contextTokens ?? 0))
  })

  test('a refused call does not run, the model learns why and goes on', async t => {
    const world = await World.open(t, adapter, [
      { prompt: 'try', steps: [{ calls: [{ run: 'touch forbidden.txt' }] }, { say: 'Then I leave it.' }] },
    ])
    const talk = await world.talk('try it', { asks: asking(() => DENY) })
    const ended = await talk.turn()
    assert.equal(ended.outcome, 'completed')
    assert.equal(ended.text, 'Then I leave it.')
    assert.equal(ended.denials, 1)
    assert.equal(talk.all('tool_result')[0]?.ok, false)
    assert.match(world.model.told(), /not on my watch/)
    assert.equal(world.has('forbidden.txt'), false)
  })

  test('calls made at once are asked one by one, and each gets its own verdict', async t => {
    const calls = ['one', 'two', 'three'].map(name => ({ run: `touch ${name}.txt` }))
    const world = await World.open(t, adapter, [{ prompt: 'three things', steps: [{ calls }, { say: 'Done.' }] }])
    const asks = asking(({ input }) => (JSON.stringify(input).includes('two.txt') ? DENY : ALLOW))
    const talk = await world.talk('do three things', { asks })
    assert.equal((await talk.turn()).outcome, 'completed')
    assert.equal(new Set(asks.requests.map(request => request.callId)).size, 3)
    assert.deepEqual(
      ['one.txt', 'two.txt', 'three.txt'].map(name => world.has(name)),
      [true, false, true],
    )
    assert.deepEqual(talk.all('tool_result').filter(event => event.ok).length, 2)
  })

  test("a subagent's calls are asked with its id, and its words carry it", async t => {
    const world = await World.open(t, adapter, [
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
    const talk = await world.talk('send a helper', { asks })
    const ended = await talk.turn()
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
  })

  test('the next prompt goes to the same process, and the model may be another by then', async t => {
    const world = await World.open(t, adapter, [
      {
        prompt: 'first',
        steps: [{ say: 'One.' }],
        later: [{ prompt: 'second', steps: [{ calls: [{ run: 'touch second.txt' }] }, { say: 'Two.' }] }],
      },
    ])
    const talk = await world.talk('first')
    assert.equal((await talk.turn()).text, 'One.')
    const pid = talk.session.pid
    assert.ok(pid)
    await world.model.restart()
    await talk.session.prompt('second')
    assert.equal((await talk.turn()).text, 'Two.')
    assert.equal(talk.session.pid, pid)
    assert.equal(world.has('second.txt'), true)
    assert.equal(talk.all('turn_ended').length, 2)
  })

  test('a turn that reaches the cap on rounds ends as capped', async t => {
    const steps = Array.from({ length: 5 }, (_, at) => ({ calls: [{ run: `echo ${at}` }] }))
    const world = await World.open(t, adapter, [{ prompt: 'endless', steps }])
    const talk = await world.talk('endless', { maxTurns: 2 })
    assert.equal((await talk.turn()).outcome, 'capped')
  })
}
