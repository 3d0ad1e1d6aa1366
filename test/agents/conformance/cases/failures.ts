import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { FailureKind } from '../../../../src/domain/session.ts'
import { tempDir } from '../../../support/world.ts'
import type { Adapter } from '../adapter.ts'
import type { Live } from '../live.ts'
import { checkPoint, partTest, pointTest } from '../point.ts'
import type { Fault, Script } from '../script.ts'
import { type Talk, until, World } from '../world.ts'
import { triesAgain } from './limits.ts'

/** A failure of the vendor gets a kind, and the session goes on after it. */
export function failureCases(live: Live): void {
  const { adapter } = live

  /** The session that got the prompt. */
  async function faced(t: TestContext, scripts: Script[], isFirst: boolean): Promise<Talk> {
    if (isFirst) return (await World.open(t, adapter, scripts)).talk('work')
    return (await live.enter(t, scripts)).say('work')
  }

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
        const { talk } = await triesAgain(t, live, { kind: fault } as Fault)
        const nothing = () => assert.deepEqual(talk.all('retry'), [])
        const told = () => assert.notDeepEqual(talk.all('retry'), [])
        await checkPoint(t, adapter, 'failure.retries', { full: told, untold: nothing, some: () => undefined })
        return 'degraded'
      }
      const steps = [{ fault: { kind: fault } as Fault }]
      const talk = await faced(t, [{ prompt: 'work', steps }], adapter.firstTurn?.includes(fault) ?? false)
      const ended = await talk.turn()
      assert.equal(ended.outcome, 'failed')
      assert.equal(ended.failure?.kind, known)
      if (!['overloaded', 'server', 'reset'].includes(fault)) return undefined
      await checkPoint(t, adapter, 'failure.retries', {
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
}

/** Failures of the agent itself. */
export function crashCases(live: Live): void {
  const { adapter } = live

  partTest(
    adapter,
    'failure.crash',
    'an agent killed in the middle of a tool ends the turn as failed, and a resume goes on from there',
    async t => {
      const { world, say } = await live.enter(t, [
        {
          prompt: 'work',
          steps: [{ calls: [{ run: 'touch begun; sleep 300' }] }, { say: 'Unreachable.' }],
          later: [{ prompt: 'go on', steps: [{ calls: [{ run: 'touch after.txt' }] }, { say: 'Back again.' }] }],
        },
      ])
      const talk = await say('work')
      await talk.until('tool_request')
      await until(() => world.has('begun'))
      const vendorId = talk.session.vendorId ?? ''
      // The process group, because in a namespace the pid is that of a helper.
      process.kill(-(talk.session.pid ?? assert.fail('it runs')), 'SIGKILL')
      const ended = await talk.turn()
      assert.equal(ended.outcome, 'failed')
      assert.equal(ended.failure?.kind, 'agent_crashed')
      const over = await talk.until('ended')
      assert.equal(over.reason, 'crashed')
      assert.equal(over.failure?.kind, 'agent_crashed')
      await talk.close()

      await checkPoint(t, adapter, 'resume', {
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
}

/** Failures that prevent the start of a session. */
export function startCases(adapter: Adapter): void {
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
