import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { brainKeys, callerSettings, sessionEnvironment } from '../../src/cli/session-env.ts'
import { grantTrust, trustStatus } from '../../src/policy/trust/trust.ts'
import { tempDir } from '../support/world.ts'

const CALLER = {
  HOME: '/h',
  ANTHROPIC_API_KEY: 'k',
  MY_TOKEN: 'secret',
  AWS_SECRET_ACCESS_KEY: 's',
  NODE_OPTIONS: '-r x',
}

test('without settings only the standard variables are sent', async t => {
  const [env, project] = [{ ...CALLER, PCC_HOME: tempDir(t) }, tempDir(t)]
  assert.deepEqual(await sessionEnvironment({ paths: appPathsFor({ env }), env, project }), {
    HOME: '/h',
    ANTHROPIC_API_KEY: 'k',
  })
})

test('a config file or a variable can set which names are sent, and an invalid one is refused', async t => {
  const [env, project] = [{ ...CALLER, PCC_HOME: tempDir(t) }, tempDir(t)]
  const paths = appPathsFor({ env })
  mkdirSync(dirname(paths.configFile), { recursive: true })
  writeFileSync(paths.configFile, '[agents]\nenv = ["MY_TOKEN"]\n')
  assert.deepEqual(await sessionEnvironment({ paths, env, project }), { HOME: '/h', MY_TOKEN: 'secret' })
  assert.deepEqual(await sessionEnvironment({ paths, env: { ...env, PCC_AGENTS_ENV: 'AWS_*' }, project }), {
    HOME: '/h',
    AWS_SECRET_ACCESS_KEY: 's',
  })
  await assert.rejects(
    sessionEnvironment({ paths, env: { ...env, PCC_AGENTS_ENVS: 'AWS_*' }, project }),
    /PCC_AGENTS_ENVS/,
  )
  writeFileSync(paths.configFile, 'nonsense')
  await assert.rejects(sessionEnvironment({ paths, env, project }), /config.toml/)
})

test('a named config file that does not exist is refused', async t => {
  const [env, project] = [{ ...CALLER, PCC_HOME: tempDir(t) }, tempDir(t)]
  await assert.rejects(
    sessionEnvironment({ paths: appPathsFor({ env, configFile: '/nowhere.toml' }), env, project }),
    /nowhere.toml/,
  )
})

test("a trusted project's file can add names, one that is not trusted cannot", async t => {
  const [env, project] = [{ ...CALLER, PCC_HOME: tempDir(t) }, tempDir(t)]
  const paths = appPathsFor({ env })
  writeFileSync(join(project, '.perpetualcc.toml'), '[agents]\nenv = ["ANTHROPIC_*", "MY_TOKEN"]\n')
  assert.deepEqual(await sessionEnvironment({ paths, env, project }), { HOME: '/h', ANTHROPIC_API_KEY: 'k' })
  await grantTrust(paths, await trustStatus(paths, project))
  const trusted = await sessionEnvironment({ paths, env, project })
  assert.deepEqual(trusted, { HOME: '/h', ANTHROPIC_API_KEY: 'k', MY_TOKEN: 'secret' })
})

test('the config file and the setting variables of a shell are sent with a session, and no other variables', t => {
  const home = tempDir(t)
  const env = { PCC_HOME: home, PCC_SESSIONS_MAX_CONCURRENT: '2', PATH: '/bin', PCC_LOGS_LEVEL: '' }
  const settings = { PCC_SESSIONS_MAX_CONCURRENT: '2' }
  assert.deepEqual(callerSettings(appPathsFor({ env }), env), { config: null, settings })
  const paths = appPathsFor({ env, configFile: '/some/other.toml' })
  assert.deepEqual(callerSettings(paths, env), { config: '/some/other.toml', settings })
})

test("a brain's key that the settings only name is sent as a setting, and not to the agent", async t => {
  const [env, project] = [{ ...CALLER, PCC_HOME: tempDir(t) }, tempDir(t)]
  const paths = appPathsFor({ env })
  assert.deepEqual(await brainKeys({ paths, env, project }), {})
  mkdirSync(dirname(paths.configFile), { recursive: true })
  writeFileSync(
    paths.configFile,
    '[brain.gemini]\napi_key = "env:MY_TOKEN"\n[brain.openai_compatible]\napi_key = "env:NOT_SET"\n',
  )
  assert.deepEqual(await brainKeys({ paths, env, project }), { PCC_BRAIN_GEMINI_API_KEY: 'secret' })
  const toAgent = await sessionEnvironment({ paths, env, project })
  assert.ok(!Object.values(toAgent).includes('secret'))
})
