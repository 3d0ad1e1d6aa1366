import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callerSettings } from '../../../../src/cli/session-env.ts'
import { settingsToKeep } from '../../../../src/domain/config/layers.ts'
import { loadConfig } from '../../../../src/domain/config/load.ts'
import { SETTING_KEYS, settingOf } from '../../../../src/domain/config/settings.ts'
import { writeConfigFiles } from '../config-files.ts'

const SHORT = {
  PCC_LIMIT: '7',
  PCC_PARALLEL: '3',
  PCC_MODEL: 'opus',
  PCC_MODEL_STRATEGY: 'escalate',
  PCC_AGENT: 'gemini --acp',
}

test('the short variables set their settings, and are named as the origin', async t => {
  const { paths, env } = writeConfigFiles(t)
  const { values, origin } = await loadConfig({ paths, env: { ...env, ...SHORT }, project: null })
  assert.equal(values['execution.limit'], 7)
  assert.equal(values['execution.model'], 'opus')
  assert.equal(values['execution.model_strategy'], 'escalate')
  assert.equal(values['agent.command'], 'gemini --acp')
  assert.equal(origin('execution.model'), 'PCC_MODEL')
})

test('the variable derived from the key wins over the short one, whichever comes first', async t => {
  const { paths, env } = writeConfigFiles(t)
  for (const both of [
    { PCC_MODEL: 'haiku', PCC_EXECUTION_MODEL: 'opus' },
    { PCC_EXECUTION_MODEL: 'opus', PCC_MODEL: 'haiku' },
  ]) {
    const { values, origin } = await loadConfig({ paths, env: { ...env, ...both }, project: null })
    assert.deepEqual([values['execution.model'], origin('execution.model')], ['opus', 'PCC_EXECUTION_MODEL'])
  }
})

test('a wrong value in a short variable is refused by its name; an empty one sets nothing', async t => {
  const { paths, env } = writeConfigFiles(t)
  const load = (more: Record<string, string>) => loadConfig({ paths, env: { ...env, ...more }, project: null })
  await assert.rejects(load({ PCC_LIMIT: 'many' }), /PCC_LIMIT/)
  await assert.rejects(load({ PCC_MODEL_STRATEGY: 'cheapest' }), /expected "fixed", "cost-optimized"/)
  assert.equal((await load({ PCC_LIMIT: '' })).values['execution.limit'], 0)
})

test('the variables that tell an agent about its run are not settings', async t => {
  const { paths, env } = writeConfigFiles(t)
  const told = await loadConfig({ paths, env: { ...env, PCC_ITERATION: '3', PCC_TOTAL: '12' } })
  assert.deepEqual(told.values, (await loadConfig({ paths, env })).values)
})

test('short variables are sent and stored with a session', t => {
  const { paths } = writeConfigFiles(t)
  assert.deepEqual(callerSettings(paths, { ...SHORT, PCC_HOME: '/h' }).settings, SHORT)
  assert.deepEqual(settingsToKeep({ ...SHORT, PCC_HOME: '/h' }), SHORT)
  const all = SETTING_KEYS.flatMap(key => settingOf(key).variable ?? [])
  assert.deepEqual(all.toSorted(), Object.keys(SHORT).toSorted())
})

test('a project that is not trusted can lower the attempts and switch verifying on, and nothing else', async t => {
  const project = [
    '[execution]',
    'limit = 4',
    'max_retries = 9',
    'verify = false',
    'model = "opus"',
    'model_strategy = "escalate"',
    '[agent]',
    'command = "sh -c evil"',
    '[models]',
    'light = "opus"',
  ].join('\n')
  const world = writeConfigFiles(t, { project })
  const { values, untrusted } = await loadConfig({ ...world, project: world.project })
  assert.equal(values['execution.limit'], 4)
  assert.equal(values['execution.max_retries'], 3)
  assert.equal(values['execution.verify'], true)
  assert.equal(values['execution.model'], undefined)
  assert.equal(values['agent.command'], 'claude')
  assert.equal(values['models.light'], 'haiku')
  assert.deepEqual(untrusted.toSorted(), [
    'agent.command',
    'execution.max_retries',
    'execution.model',
    'execution.model_strategy',
    'execution.verify',
    'models.light',
  ])
  const trusted = await loadConfig({ ...world, project: world.project, trusted: () => true })
  assert.equal(trusted.values['agent.command'], 'sh -c evil')
  assert.equal(trusted.values['execution.verify'], false)
})
