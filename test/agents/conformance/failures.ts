import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { FailureKind } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'
import type { Adapter } from './adapter.ts'
import { look, partTest, pointTest } from './point.ts'
import type { Fault } from './script.ts'
import { until, World } from './world.ts'

/** What goes wrong becomes a kind, and the session can be gone on with. */
export function failureCases(adapter: Adapter): void {
  /** Nothing is told and nothing ends; the turn can be stopped all the same. */
  async function triesAgain(t: TestContext, fault: Fault) {
    const world = await World.open(t, adapter, [{ prompt: 'work', steps: [{ fault }] }])
    const talk = await world.talk('work')
    await talk.until('started')
    await until(() => world.model.requests() >= 2)
    await talk.session.interrupt()
    assert.equal((await talk.turn()).outcome, 'interrupted')
    assert.deepEqual(talk.all('limit'), [])
    return { world, talk }
  }

  /** What follows the turn that was stopped because it met a limit in silence. */
  async function silentLimit(t: TestContext) {
    const { world, talk } = await triesAgain(t, {
      kind: 'limit',
      resets: new Date(Date.now() + 3_600_000).toISOString(),
    })
    const later = [{ prompt: 'go on', steps: [{ say: 'Going on.' }] }]
    await world.model.restart([{ prompt: 'work', steps: [{ say: 'Unused.' }], later }])
    await talk.session.prompt('go on')
    const next = await talk.turn()
    assert.deepEqual([next.outcome, next.text], ['completed', 'Going on.'])
    await look(t, adapter, 'turn.after-failure', { full: () => undefined, forgets: () => assert.fail('it remembers') })
  }

  async function limited(t: TestContext) {
    const resets = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3_600_000)
    const fault: Fault = { kind: 'limit', resets: resets.toISOString() }
    const goOn = [{ say: 'Going on.' }]
    const later = [{ prompt: 'go on', steps: goOn }]
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
    await look(t, adapter, 'turn.after-failure', {
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

  pointTest(adapter, 'limit.without-reset', 'a refusal that says no time is a limit without a reset', {
    silent: async t => void (await triesAgain(t, { kind: 'rate' })),
    'as-a-time': async t => {
      const world = await World.open(t, adapter, [{ prompt: 'work', steps: [{ fault: { kind: 'rate' } }] }])
      const ended = await (await world.talk('work')).turn()
      assert.equal(ended.failure?.kind, 'limit')
    },
    full: async t => {
      const fault: Fault = { kind: 'limit', resets: new Date(Date.now() + 3_600_000).toISOString() }
      const world = await World.open(t, adapter, [{ prompt: 'work', steps: [{ fault }] }])
      const ended = await (await world.talk('work')).turn()
      assert.equal(ended.failure?.kind, 'limit')
      assert.equal(ended.failure?.limit?.resetsAt, undefined)
      assert.equal(ended.failure?.limit?.source, 'result')
    },
  })

  pointTest(adapter, 'limit.look-alike', 'an agent that reads, prints and says the words of a limit has met none', {
    full: async t => {
      const words = "You've hit your 5-hour limit · resets 3am (UTC)"
      const world = await World.open(
        t,
        adapter,
        [
          {
            prompt: 'work',
            steps: [
              { say: words, think: words, calls: [{ run: 'cat limit.txt; cat limit.txt >&2; exit 1' }] },
              { say: words },
            ],
          },
        ],
        { login: 'subscription', files: { 'limit.txt': `${words}\n{"type":"rate_limit_event"}\n` } },
      )
      const talk = await world.talk('work')
      const ended = await talk.turn()
      assert.deepEqual([ended.outcome, ended.text, ended.failure], ['completed', words, undefined])
      assert.deepEqual(
        talk.all('limit').filter(event => event.status === 'rejected'),
        [],
      )
      assert.match(world.model.told(), /5-hour limit/)
    },
  })

  const faults: [Fault['kind'], FailureKind][] = [
    ['overloaded', 'overloaded'],
    ['server', 'server'],
    ['reset', 'network'],
    ['auth', 'auth'],
    ['prompt_too_long', 'prompt_too_long'],
    ['model_not_found', 'model_not_found'],
    ['billing', 'billing'],
  ]
  for (const [fault, kind] of faults) {
    partTest(adapter, 'failure.kinds', `the API's ${fault} fault ends the turn with a failure of its kind`, async t => {
      const known = adapter.kinds?.[fault] ?? kind
      if (known === 'silent') {
        const { talk } = await triesAgain(t, { kind: fault } as Fault)
        const nothing = () => assert.deepEqual(talk.all('retry'), [])
        const told = () => assert.notDeepEqual(talk.all('retry'), [])
        await look(t, adapter, 'failure.retries', { full: told, untold: nothing, some: () => undefined })
        return 'degraded'
      }
      const steps = [{ fault: { kind: fault } as Fault }]
      const world = await World.open(t, adapter, [{ prompt: 'work', steps }])
      const talk = await world.talk('work')
      const ended = await talk.turn()
      assert.equal(ended.outcome, 'failed')
      assert.equal(ended.failure?.kind, known)
      if (!['overloaded', 'server', 'reset'].includes(fault)) return undefined
      await look(t, adapter, 'failure.retries', {
        full: () => {
          assert.ok(talk.all('retry').length > 0)
          assert.ok(talk.all('retry').every(event => event.failure.kind === kind && event.maxRetries > 0))
        },
        untold: () => assert.deepEqual(talk.all('retry'), []),
        some: () => assert.ok(talk.all('retry').every(event => event.failure.kind === kind && event.maxRetries > 0)),
      })
      return undefined
    })
  }

  pointTest(adapter, 'failure.login', 'an agent that is not logged in says so', {
    full: async t => {
      const world = await World.open(t, adapter, [{ prompt: 'work', steps: [{ say: 'Unreachable.' }] }], {
        login: 'none',
      })
      const talk = await world.talk('work')
      const ended = await talk.turn()
      assert.equal(ended.failure?.kind, 'auth')
      assert.match(ended.failure?.message ?? '', /not logged in/i)
    },
  })

  partTest(
    adapter,
    'failure.crash',
    'an agent killed in the middle of a tool ends the turn as failed, and a resume goes on from there',
    async t => {
      const world = await World.open(t, adapter, [
        {
          prompt: 'work',
          steps: [{ calls: [{ run: 'touch begun; sleep 300' }] }, { say: 'Unreachable.' }],
          later: [{ prompt: 'go on', steps: [{ calls: [{ run: 'touch after.txt' }] }, { say: 'Back again.' }] }],
        },
      ])
      const talk = await world.talk('work')
      await talk.until('tool_request')
      await until(() => world.has('begun'))
      const vendorId = talk.session.vendorId ?? ''
      // The group, because the number is that of a helper where the agent runs in a namespace.
      process.kill(-(talk.session.pid ?? assert.fail('it runs')), 'SIGKILL')
      const ended = await talk.turn()
      assert.equal(ended.outcome, 'failed')
      assert.equal(ended.failure?.kind, 'agent_crashed')
      const over = await talk.until('ended')
      assert.equal(over.reason, 'crashed')
      assert.equal(over.failure?.kind, 'agent_crashed')
      await talk.close()

      await look(t, adapter, 'resume', {
        full: async () => {
          await world.model.restart()
          const resumed = await world.talk('go on', { resume: { vendorId, fork: false } })
          assert.equal((await resumed.turn()).text, 'Back again.')
          assert.equal(resumed.session.vendorId, vendorId)
          assert.equal(resumed.all('started')[0]?.resumed, true)
          assert.equal(world.has('after.txt'), true)
        },
        none: async () => {
          const resumed = await world.talk('go on', { resume: { vendorId, fork: false } })
          assert.equal((await resumed.until('ended')).failure?.kind, 'resume_unknown')
        },
      })
    },
  )

  partTest(adapter, 'resume.unknown', 'a resume of a conversation that does not exist fails as such', async t => {
    const world = await World.open(t, adapter, [{ prompt: 'work', steps: [{ say: 'Unreachable.' }] }])
    for (const vendorId of ['11111111-1111-4111-8111-111111111111', 'no such thing']) {
      const talk = await world.talk('work', { resume: { vendorId, fork: false } })
      const ended = await talk.until('ended')
      assert.equal(ended.reason, 'failed')
      assert.equal(ended.failure?.kind, 'resume_unknown')
      await talk.close()
    }
  })

  partTest(adapter, 'failure.start', 'a program that is not there fails as missing', async t => {
    const executable = '/nonexistent/agent'
    const world = await World.open(t, adapter, [{ prompt: 'x', steps: [{ say: 'x' }] }], { driver: { executable } })
    const talk = await world.talk('x')
    const ended = await talk.until('ended')
    assert.equal(ended.reason, 'failed')
    assert.equal(ended.failure?.kind, 'agent_missing')
    assert.match(ended.failure?.message ?? '', /cannot be started/)
  })

  partTest(adapter, 'failure.start', 'a folder that is not there fails with its name', async t => {
    const world = await World.open(t, adapter, [{ prompt: 'x', steps: [{ say: 'x' }] }])
    const talk = await world.talk('x', { cwd: world.path('gone') })
    const ended = await talk.until('ended')
    assert.equal(ended.reason, 'failed')
    assert.match(ended.failure?.message ?? '', /gone/)
  })

  partTest(
    adapter,
    'failure.start',
    'a recording that cannot be written fails the session before the agent starts',
    async t => {
      const world = await World.open(t, adapter, [{ prompt: 'x', steps: [{ say: 'x' }] }])
      const talk = await world.talk('x', { record: world.path('gone/recording.jsonl') })
      const ended = await talk.until('ended')
      assert.equal(ended.reason, 'failed')
      assert.match(ended.failure?.message ?? '', /recording\.jsonl/)
      assert.equal(talk.session.pid, undefined)
    },
  )

  const impostors = {
    'talks garbage and leaves': 'echo "not json at all"; echo "{\\"type\\":\\"result\\"}"; exit 3',
    'ends at once': 'exit 0',
    'says why it does not start': 'echo "the licence ran out" >&2; exit 1',
  }
  for (const [what, script] of Object.entries(impostors)) {
    partTest(adapter, 'failure.start', `a program that ${what} ends the session and throws nothing`, async t => {
      const executable = join(tempDir(t), 'agent')
      writeFileSync(executable, `#!/bin/sh\n${script}\n`)
      chmodSync(executable, 0o755)
      const world = await World.open(t, adapter, [{ prompt: 'x', steps: [{ say: 'x' }] }], { driver: { executable } })
      const talk = await world.talk('x')
      const ended = await talk.until('ended')
      assert.equal(ended.reason, 'failed')
      assert.equal(ended.failure?.kind, 'agent_crashed')
      if (script.includes('licence')) assert.match(ended.failure?.message ?? '', /the licence ran out/)
    })
  }
}
