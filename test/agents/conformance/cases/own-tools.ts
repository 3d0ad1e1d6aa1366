import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Live } from '../live.ts'
import { checkPoint, pointTest } from '../point.ts'
import { ALLOW, asking, DENY } from '../world.ts'

const COLOUR = { question: 'Which colour?', options: ['red', 'blue'] }

/** The tools of the sessions of these points. */
export const OWN_TOOLS = ['add_task', 'log', 'ask_human'] as const

/** Our tools in an agent: judged as ours, executed by us, and a question is handled like any question. */
export function ownToolCases(live: Live): void {
  const { adapter } = live

  test('tools of ours are judged, done and answered within one turn', async t => {
    const { world, say } = await live.enter(t, [
      {
        prompt: 'go',
        steps: [
          { calls: [{ own: 'add_task', input: { title: 'one', after: ['two'] } }] },
          { calls: [{ own: 'log', input: { text: 'forbidden words' } }] },
          { calls: [{ own: 'ask_human', input: COLOUR }] },
          { say: 'Done.' },
        ],
      },
    ])
    const asks = asking(
      request => (request.tool.endsWith('log') ? DENY : ALLOW),
      () => ({ answers: { [COLOUR.question]: 'blue' }, by: 'test' }),
    )
    const talk = await say('go', asks)
    const ended = await talk.turn()
    assert.equal(ended.text, 'Done.', JSON.stringify(ended))
    await checkPoint(t, adapter, 'tools.done', {
      full() {
        assert.deepEqual(asks.done, [['add_task', { title: 'one', after: ['two'] }]])
        assert.deepEqual(asks.requests[0], {
          ...{ callId: asks.requests[0]?.callId, tool: 'mcp__pcc__add_task', input: { title: 'one', after: ['two'] } },
          ...{ cwd: world.cwd, own: true },
        })
        const [request] = talk.all('tool_request')
        assert.deepEqual([request?.tool, request?.input], ['mcp__pcc__add_task', { title: 'one', after: ['two'] }])
        assert.equal(request?.callId, asks.requests[0]?.callId, 'the call that was told is the one that was judged')
        assert.match(world.model.told(), /did add_task/)
      },
      none: () => assert.deepEqual([asks.done, asks.requests], [[], []]),
    })
    await checkPoint(t, adapter, 'tools.refused', {
      async full() {
        assert.equal(ended.denials, 1)
        await world.model.hears('not on my watch')
      },
      none: () => undefined,
    })
    await checkPoint(t, adapter, 'tools.ask', {
      full() {
        assert.deepEqual(
          asks.questions.map(({ questions: [item] }) => [item?.question, item?.options.map(({ label }) => label)]),
          [[COLOUR.question, COLOUR.options]],
        )
        assert.equal(asks.requests.length, 2, 'a question is not a permission')
        assert.match(world.model.told(), /blue/)
      },
      none: () => assert.deepEqual(asks.questions, []),
    })
  })

  /** A question that nobody can answer now. */
  async function parked(t: TestContext) {
    const { world, say } = await live.enter(t, [
      {
        prompt: 'paint',
        steps: [{ calls: [{ own: 'ask_human', input: COLOUR }] }, { say: 'I go on.' }],
        later: [{ prompt: 'They said blue', steps: [{ say: 'Painted blue.' }] }],
      },
    ])
    const asks = asking(
      () => ALLOW,
      () => ({ park: true, reason: 'nobody is there' }),
    )
    const talk = await say('paint', asks)
    const turn = await talk.turn()
    return { world, asks, talk, turn }
  }

  async function endsParked({ asks, talk, turn }: Awaited<ReturnType<typeof parked>>) {
    assert.equal(turn.outcome, 'parked')
    assert.equal(turn.parked?.gone, true)
    assert.equal(turn.parked?.callId, asks.questions[0]?.callId)
    const vendorId = talk.session.vendorId ?? ''
    await talk.close()
    return vendorId
  }

  pointTest(
    adapter,
    'tools.park',
    'a question by a tool of ours that nobody answers ends the turn; what is said to it comes as the next prompt',
    {
      none: async t => assert.equal((await parked(t)).turn.text, 'I go on.'),
      lost: async t => void (await endsParked(await parked(t))),
      full: async t => {
        const before = await parked(t)
        const vendorId = await endsParked(before)
        const asks = asking(() => ALLOW)
        const more = { asks, ownTools: OWN_TOOLS, resume: { vendorId, fork: false } }
        const resumed = await before.world.talk('They said blue.', more)
        assert.equal((await resumed.turn()).text, 'Painted blue.')
      },
    },
  )
}
