import assert from 'node:assert/strict'
import type { Live } from '../live.ts'
import { pointTest } from '../point.ts'
import { asking, until } from '../world.ts'

/** Pause and interrupt. */
export function stopCases(live: Live): void {
  const { adapter } = live

  pointTest(adapter, 'stop.pause', 'a pause lets the tool in flight finish, and the next prompt goes on', {
    forgets: async t => {
      const { world, say } = await live.enter(t, [
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
      const talk = await say('long work')
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
      const { world, say } = await live.enter(t, [
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
      const talk = await say('long work')
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
      const { world, say } = await live.enter(t, [
        {
          prompt: 'think',
          steps: [
            { delayMs: 500, calls: [{ run: 'touch one.txt' }] },
            { calls: [{ run: 'touch two.txt' }] },
            { say: 'End.' },
          ],
        },
      ])
      const talk = await say('think about it')
      await world.model.hears('think about it')
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
        const { world, say } = await live.enter(t, [
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
        const talk = await say('send a helper')
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
        const { world, say } = await live.enter(t, [
          {
            prompt: 'work',
            steps: [{ calls: [{ run: 'touch begun; sleep 0.7' }] }, { say: 'Done first.' }],
            later: [{ prompt: 'mind the gap', steps: [{ say: 'I heard you.' }] }],
          },
        ])
        const talk = await say('work')
        await until(() => world.has('begun'))
        await talk.session.prompt('mind the gap')
        assert.equal((await talk.turn()).text, 'Done first.')
        assert.equal((await talk.turn()).text, 'I heard you.')
      },
      full: async t => {
        const { world, say } = await live.enter(t, [
          { prompt: 'work', steps: [{ calls: [{ run: 'touch begun; sleep 0.7' }] }, { say: 'I heard you.' }] },
        ])
        const talk = await say('work')
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
      const { world, say } = await live.enter(t, [
        {
          prompt: 'sleep',
          steps: [{ calls: [{ run: 'touch begun; sleep 300; touch never.txt' }] }, { say: 'Slept.' }],
          later: [{ prompt: 'go on', steps: [{ say: 'Awake.' }] }],
        },
      ])
      const talk = await say('sleep')
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
      const { world, say } = await live.enter(t, [
        { prompt: 'try', steps: [{ calls: [{ run: 'touch slipped.txt' }] }, { say: 'Went on.' }] },
      ])
      const asked = Promise.withResolvers<AbortSignal>()
      const asks = asking((_request, signal) => {
        asked.resolve(signal)
        return new Promise(() => undefined)
      })
      const talk = await say('try it', asks)
      const signal = await asked.promise
      await talk.session.interrupt()
      assert.equal((await talk.turn()).outcome, 'interrupted')
      assert.equal(signal.aborted, true)
      assert.equal(world.has('slipped.txt'), false)
    },
  })
}
