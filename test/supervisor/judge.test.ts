import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import { loadRules } from '../../src/policy/rules/load.ts'
import { openStore } from '../../src/store/open.ts'
import { judge } from '../../src/supervisor/asks/judge.ts'
import type { Parts, Run } from '../../src/supervisor/run.ts'
import { tempDir } from '../support/world.ts'
import { aRun } from './a-run.ts'
import { partsOn } from './parts.ts'

/** The decision on one command in a run like this, with the real store and classifier but for what is changed. */
async function judged(
  t: TestContext,
  command: string,
  change: { run?: Partial<Run>; policy?: Partial<Parts['policy']> },
) {
  using classifier = openClassifier()
  await using store = await openStore({ file: join(tempDir(t), 'a.db') })
  const policy = { classify: classifier.classify, loadRules, ...change.policy }
  const parts = partsOn(store, { policy })
  const request = { callId: 'c', tool: 'Bash', input: { command }, cwd: '/p' }
  const { decision } = await judge(request, AbortSignal.timeout(5_000), { run: aRun({}, change.run), parts })
  return decision
}

function fail(): never {
  throw new Error('broken')
}

test('whatever fails while a request is judged ends in a refusal, however harmless the request', async t => {
  assert.equal((await judged(t, 'ls', {})).verdict, 'allow')
  const broken = [
    { policy: { classify: fail } },
    { policy: { classify: async () => fail() } },
    { run: { policy: { ...aRun().policy, rules: async () => fail() } } },
  ]
  for (const change of broken) {
    const { verdict, risk, by, reason } = await judged(t, 'ls', change)
    assert.deepEqual([verdict, risk, by], ['deny', 'HIGH', 'policy'])
    assert.match(reason, /go on another way/)
  }
})

test('the brain has no say about HIGH, and the person who started the session has only about that very command', async t => {
  const allowed = { policy: { ...aRun().policy, allowedTools: ['Bash(rm x)'] } }
  assert.equal((await judged(t, 'rm x', {})).verdict, 'deny')
  assert.equal((await judged(t, 'rm x', { run: allowed })).rule, '--allowed-tools Bash(rm x)')
  assert.equal((await judged(t, 'rm y', { run: allowed })).verdict, 'deny')
})
