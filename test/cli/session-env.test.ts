import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { placesFor } from '../../src/base/places.ts'
import { sessionEnvironment } from '../../src/cli/session-env.ts'
import { tempDir } from '../support/world.ts'

const CALLER = {
  HOME: '/h',
  ANTHROPIC_API_KEY: 'k',
  MY_TOKEN: 'secret',
  AWS_SECRET_ACCESS_KEY: 's',
  NODE_OPTIONS: '-r x',
}

test('without settings the standard names travel and nothing else', async t => {
  const env = { ...CALLER, PCC_HOME: tempDir(t) }
  assert.deepEqual(await sessionEnvironment(placesFor({ env }), env), { HOME: '/h', ANTHROPIC_API_KEY: 'k' })
})

test('a file and a variable that set the names are heeded, and a wrong one is refused', async t => {
  const env = { ...CALLER, PCC_HOME: tempDir(t) }
  const places = placesFor({ env })
  mkdirSync(dirname(places.configFile), { recursive: true })
  writeFileSync(places.configFile, '[agents]\nenv = ["MY_TOKEN"]\n')
  assert.deepEqual(await sessionEnvironment(places, env), { HOME: '/h', MY_TOKEN: 'secret' })
  assert.deepEqual(await sessionEnvironment(places, { ...env, PCC_AGENTS_ENV: 'AWS_*' }), {
    HOME: '/h',
    AWS_SECRET_ACCESS_KEY: 's',
  })
  await assert.rejects(sessionEnvironment(places, { ...env, PCC_AGENTS_ENVS: 'AWS_*' }), /PCC_AGENTS_ENVS/)
  writeFileSync(places.configFile, 'nonsense')
  await assert.rejects(sessionEnvironment(places, env), /config.toml/)
})

test('a config file that was named and is not there is refused', async t => {
  const env = { ...CALLER, PCC_HOME: tempDir(t) }
  await assert.rejects(sessionEnvironment(placesFor({ env, configFile: '/nowhere.toml' }), env), /nowhere.toml/)
})
