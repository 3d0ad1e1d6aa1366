import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setUpOf } from '../../../src/brain/models/set-up.ts'
import { STANDARD_AGENT_ENV } from '../../../src/domain/config/agent-env.ts'
import { brainEnvironment } from '../../../src/supervisor/brain/brain-environment.ts'
import { configWith } from '../../brain/models/sample.ts'
import { scriptedAgent } from '../steering/scripted-agent.ts'
import { scriptedWorld } from '../steering/scripted-world.ts'

const DAEMON = {
  HOME: '/daemon',
  ANTHROPIC_API_KEY: 'fake-of-the-daemon',
  AWS_ACCESS_KEY_ID: 'fake-of-the-daemon',
  GEMINI_API_KEY: 'fake-gemini',
}

test('a judge has the login of its session and nothing of another that the daemon was started with', () => {
  for (const session of [{ CLAUDE_CODE_OAUTH_TOKEN: 'fake-of-the-session' }, { CLAUDE_CODE_USE_BEDROCK: '1' }]) {
    const env = brainEnvironment({ daemon: DAEMON, session, patterns: STANDARD_AGENT_ENV })
    const judge = setUpOf('claude', configWith({ 'brain.type': 'claude' }), env)
    assert.deepEqual('env' in judge && judge.env, session)
  }
})

test('a key that settings only name is found where the daemon was started, and that of the session goes before it', () => {
  const of = (session: Record<string, string>) =>
    brainEnvironment({ daemon: DAEMON, session, patterns: STANDARD_AGENT_ENV })['GEMINI_API_KEY']
  assert.deepEqual([of({}), of({ GEMINI_API_KEY: 'fake-other' })], ['fake-gemini', 'fake-other'])
})

test('the brains of a session are opened with that', async t => {
  const world = await scriptedWorld(
    t,
    scriptedAgent(() => ({})),
    { ANTHROPIC_API_KEY: 'fake-of-the-daemon' },
  )
  const id = await world.start('do it', { env: { CLAUDE_CODE_OAUTH_TOKEN: 'fake-of-the-session' } })
  await world.when(id, view => view.status === 'completed')
  assert.deepEqual(world.environments, [{ CLAUDE_CODE_OAUTH_TOKEN: 'fake-of-the-session' }])
})
