import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { runWorld } from './run-world.ts'

/** The models of the attempts in a run of three tasks, the first of which fails once, and how the run ended. */
async function attempted(t: TestContext, settings: Record<string, string>) {
  let failures = 1
  const refused = { failure: { kind: 'refusal', message: 'no' } } as const
  const world = await runWorld(
    t,
    scriptedAgent(() => (failures-- > 0 ? refused : {})),
  )
  for (const name of ['one', 'two', 'three']) await world.add(name)
  const { id } = await world.run({ settings })
  const { outcome, attempts } = await world.over(id)
  return [outcome, ...attempts.map(({ model }) => model)]
}

test('execution.model_strategy says how models are picked', async t => {
  assert.deepEqual(await attempted(t, {}), ['complete', 'sonnet', 'opus', 'haiku', 'haiku'])
  const planned = await attempted(t, { PCC_MODEL_STRATEGY: 'plan-then-execute' })
  assert.deepEqual(planned, ['complete', 'opus', 'sonnet', 'sonnet', 'sonnet'])
})

test('execution.model is the model of every attempt', async t => {
  const named = await attempted(t, { PCC_MODEL: 'any-9', PCC_MODEL_STRATEGY: 'escalate' })
  assert.deepEqual(named, ['complete', 'any-9', 'any-9', 'any-9', 'any-9'])
})

test('models.light, models.standard and models.strong are what the steps are called', async t => {
  const names = { PCC_MODELS_LIGHT: 'small', PCC_MODELS_STANDARD: 'middle', PCC_MODELS_STRONG: 'large' }
  assert.deepEqual(await attempted(t, names), ['complete', 'middle', 'large', 'small', 'small'])
})

test('execution.limit is the most attempts, execution.max_retries the most tries after the first', async t => {
  assert.deepEqual(await attempted(t, { PCC_LIMIT: '2' }), ['limit_reached', 'sonnet', 'opus'])
  const once = await attempted(t, { PCC_EXECUTION_MAX_RETRIES: '0' })
  assert.deepEqual(once, ['failure', 'sonnet', 'opus', 'haiku'])
})

test('execution.verify says whether what is done is to be checked, --no-verify stands above it', async t => {
  const world = await runWorld(t, scriptedAgent())
  const began = async (more: object) => (await world.over((await world.run(more)).id)).verify
  assert.equal(await began({}), true)
  assert.equal(await began({ verify: false }), false)
  assert.equal(await began({ settings: { PCC_EXECUTION_VERIFY: 'false' } }), false)
  assert.equal(await began({ settings: { PCC_EXECUTION_VERIFY: 'false' }, verify: true }), true)
})

test('agent.command names an agent that can be driven, or nothing is started', async t => {
  const world = await runWorld(t, scriptedAgent())
  await world.add('one')
  const wanted = { project: world.project, target: { kind: 'project' }, env: {} }
  const { status, body } = await world.call('POST', '/runs', { ...wanted, settings: { PCC_AGENT: 'codx' } })
  assert.deepEqual([status, body.error.code], [400, 'agent_unknown'])
  assert.match(body.error.message, /"codx" \(.*PCC_AGENT/)
  assert.equal((await world.over((await world.run({ settings: { PCC_AGENT: 'claude' } })).id)).outcome, 'complete')
})
