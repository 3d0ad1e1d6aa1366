import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Asks, Verdict } from '../../../../src/domain/session.ts'
import type { Live } from '../live.ts'
import { partsTest, pointTest } from '../point.ts'
import { ALLOW, allowing, asking, type Talk } from '../world.ts'

const which = { question: 'Which database?', options: ['SQLite', 'Postgres'] }
const both = { question: 'Which parts?', options: ['Left', 'Right', 'Middle'], several: true }

/** An agent that cannot ask goes on without an answer: nobody is asked. */
async function cannotAsk(t: TestContext, live: Live) {
  const { say } = await live.enter(t, [
    { prompt: 'ask me', steps: [{ calls: [{ ask: which }] }, { say: 'I decide.' }] },
  ])
  const asks = allowing()
  const talk = await say('ask me', asks)
  assert.equal((await talk.turn()).text, 'I decide.')
  assert.deepEqual(asks.questions, [])
}

/** The asks before the agent may act. */
export function askCases(live: Live): void {
  const { adapter } = live

  pointTest(adapter, 'question', 'a question reaches whoever answers, and the answer reaches the model', {
    none: t => cannotAsk(t, live),
    single: async t => {
      const { world, say } = await live.enter(t, [
        { prompt: 'ask me', steps: [{ calls: [{ ask: which }] }, { say: 'Thanks.' }] },
      ])
      const asks = asking(
        () => ALLOW,
        () => ({ answers: { [which.question]: 'Postgres' }, by: 'test' }),
      )
      const talk = await say('ask me', asks)
      assert.equal((await talk.turn()).outcome, 'completed')
      const [asked] = asks.questions
      assert.deepEqual(
        asked?.questions[0]?.options.map(option => option.label),
        which.options,
      )
      assert.deepEqual(
        talk.all('question').map(event => event.callId),
        [asked?.callId],
      )
      assert.match(world.model.told(), /Postgres/)
      assert.equal(asks.requests.length, 0, 'a question is not a permission')
    },
    full: async t => {
      const { world, say } = await live.enter(t, [
        { prompt: 'ask me', steps: [{ calls: [{ ask: which }] }, { calls: [{ ask: both }] }, { say: 'Thanks.' }] },
      ])
      const asks = asking(
        () => ALLOW,
        ({ questions }) => ({
          answers:
            questions[0]?.question === which.question
              ? { [which.question]: 'Postgres' }
              : { [both.question]: ['Left', 'Middle'] },
          by: 'test',
        }),
      )
      const talk = await say('ask me', asks)
      assert.equal((await talk.turn()).outcome, 'completed')
      assert.deepEqual(
        asks.questions[0]?.questions[0]?.options.map(option => option.label),
        which.options,
      )
      assert.equal(asks.questions[1]?.questions[0]?.multiSelect, true)
      assert.deepEqual(
        talk.all('question').map(event => event.callId),
        asks.questions.map(asked => asked.callId),
      )
      assert.match(world.model.told(), /Postgres/)
      assert.match(world.model.told(), /Left, ?Middle/)
      assert.equal(asks.requests.length, 0, 'a question is not a permission')
    },
  })

  async function declinedQuestion(t: TestContext) {
    const { world, say } = await live.enter(t, [
      { prompt: 'ask me', steps: [{ calls: [{ ask: which }] }, { say: 'I take SQLite.' }] },
    ])
    const asks = asking(
      () => ALLOW,
      () => ({ declined: 'choose by yourself tonight', by: 'test' }),
    )
    const talk = await say('ask me', asks)
    assert.equal((await talk.turn()).text, 'I take SQLite.')
    assert.equal(asks.questions.length, 1)
    return world
  }

  pointTest(adapter, 'question.declined', 'the model is told why a question was declined, and goes on', {
    none: t => cannotAsk(t, live),
    full: async t => (await declinedQuestion(t)).model.hears('choose by yourself tonight'),
    unexplained: async t => assert.doesNotMatch((await declinedQuestion(t)).model.told(), /tonight/),
  })

  pointTest(adapter, 'refusal.judged-input', 'what is changed in a request after it was handed over does not run', {
    full: async t => {
      const { world, say } = await live.enter(t, [
        { prompt: 'try', steps: [{ calls: [{ run: 'touch judged.txt' }] }, { say: 'Done.' }] },
      ])
      const asks = asking(request => {
        request.input['command'] = 'touch other.txt'
        return ALLOW
      })
      const talk = await say('try it', asks)
      assert.equal((await talk.turn()).outcome, 'completed')
      assert.equal(world.has('judged.txt'), true)
      assert.equal(world.has('other.txt'), false)
    },
  })
}

/** The ask deadline in the sessions of these points. */
export const SOON = { askDeadlineMs: 400 }

/** Late asks are refused, and in time. The question comes first, because refusals that mention the time would be taken for its answer. */
export function failClosedCases(live: Live): void {
  const { adapter } = live

  async function lateQuestion(t: TestContext) {
    const { world, say } = await live.enter(t, [
      { prompt: 'ask me', steps: [{ calls: [{ ask: which }] }, { say: 'I decide.' }] },
    ])
    let calledOff: AbortSignal | undefined
    const asks = asking(
      () => ALLOW,
      (_question, signal) => {
        calledOff = signal
        return new Promise(() => undefined)
      },
    )
    const talk = await say('ask me', asks)
    assert.equal((await talk.turn()).text, 'I decide.')
    assert.equal(calledOff?.aborted, true, 'whoever was asked knows that nobody waits any more')
    return world
  }

  pointTest(adapter, 'question.late', 'a question that nobody answers in time is declined', {
    none: t => cannotAsk(t, live),
    full: async t => (await lateQuestion(t)).model.hears('in time'),
    unexplained: async t => void (await lateQuestion(t)),
  })

  const failing: [string, () => Asks['permission']][] = [
    ['throws', () => async () => Promise.reject(new Error('the policy broke'))],
    [
      'throws before it promises anything',
      () => () => {
        throw new Error('the policy broke at once')
      },
    ],
    ['answers junk', () => async () => ({ verdict: 'allow' }) as Verdict],
    ['answers nothing', () => async () => undefined as unknown as Verdict],
    ['only says that one should ask', () => async () => ({ ...ALLOW, verdict: 'ask' })],
    ['never answers', () => () => new Promise(() => undefined)],
  ]
  const title = (what: string) => `a call does not run when who is asked ${what}`
  partsTest(adapter, 'refusal.fails-closed', 'a call does not run when who is asked fails, in whatever way', {
    parts: failing.map(([what]) => title(what)),
    run: async (t, held) => {
      const steps = [{ calls: [{ run: 'touch slipped.txt' }] }, { say: 'Refused, then.' }]
      const later = failing.slice(1).map(([what]) => ({ prompt: `it ${what}`, steps }))
      const { world, say } = await live.enter(t, [{ prompt: 'it throws', steps, later }])
      let permission: Asks['permission'] = allowing().permission
      const asks: Asks = { permission: (...asked) => permission(...asked), question: allowing().question }
      let talk: Talk | undefined
      for (const [what, fails] of failing) {
        permission = fails()
        if (talk) await talk.session.prompt(`it ${what}`)
        talk ??= await say(`it ${what}`, asks)
        const ended = await talk.turn()
        assert.deepEqual([ended.text, ended.denials, world.has('slipped.txt')], ['Refused, then.', 1, false], what)
        held(title(what))
      }
    },
  })
}
