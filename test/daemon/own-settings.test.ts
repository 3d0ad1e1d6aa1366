import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '../support/world.ts'
import { agentSessions, bodiesOf } from './agent-sessions.ts'
import { viewWhen } from './daemon-process.ts'
import { inProcess } from './in-process.ts'

const SCENARIO = `
conversations:
  - match: the long one
    turns:
      - { text: Working., latency: 1500 }
  - match: read it
    turns:
      - tools: [{ Read: { file_path: "{{cwd}}/README.md" } }]
      - text: Done.
  - match: leak it
    turns:
      - text: "My key is sk-own-key-of-the-session-1, is it not?"
  - match: show it all
    turns:
      - text: "Stripe sk_live_51Habcdefghijklmnop, database s3cr3t-of-the-project-env, bot own-bot-token-1, channel my-own-topic-1, server key-of-my-mcp-server."
`

test("a session runs under the caller's config file and variables, not under the daemon's", async t => {
  const world = await inProcess(t, SCENARIO, { env: { PCC_PERMISSIONS_AUTO_APPROVE_LOW_RISK: 'false' } })
  const config = join(tempDir(t), 'other.toml')
  writeFileSync(config, '[permissions]\nauto_approve_low_risk = true\n')
  const denied = async (more: object) => {
    const { id } = await world.start('read it', more)
    return (await viewWhen(world.daemon, id, ({ status }) => status === 'completed')).tools.denied
  }
  assert.equal(await denied({}), 1, "without any of the caller's the daemon's own count")
  assert.equal(await denied({ config, settings: {} }), 0)
  assert.equal(await denied({ config, settings: { PCC_PERMISSIONS_AUTO_APPROVE_LOW_RISK: 'false' } }), 1)
  assert.equal(await denied({ config: null, settings: {} }), 0, 'no file and no variable is the standard')
})

test('a session that waits for a place says so in the very answer that starts it', async t => {
  const world = await inProcess(t, SCENARIO)
  const settings = { PCC_SESSIONS_MAX_CONCURRENT: '1' }
  const first = await world.start('the long one', { config: null, settings })
  const second = await world.start('read it', { config: null, settings })
  assert.deepEqual([first.status, first.queued, first.reason], ['idle', false, null])
  assert.deepEqual([second.status, second.queued, second.reason], ['idle', true, 'waits for a free slot'])
  const done = await viewWhen(world.daemon, second.id, ({ status }) => status === 'completed')
  assert.equal(done.queued, false)
})

test("what is stored holds none of the session's own secrets", async t => {
  const world = await agentSessions(t, SCENARIO)
  const env = { ...world.env, ANTHROPIC_API_KEY: 'sk-own-key-of-the-session-1' }
  const { id } = await world.start('leak it', { env })
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const events = await world.log(id)
  assert.equal(bodiesOf(events, 'agent.said')[0]?.text, 'My key is [hidden], is it not?')
  assert.doesNotMatch(JSON.stringify(events), /sk-own-key/)
})

test("what is stored holds neither tokens by their shape, nor the project's .env values, nor the person's own channels and MCP servers", async t => {
  const world = await inProcess(t, SCENARIO)
  writeFileSync(join(world.project, '.env'), 'PORT=3000\nDB_PASSWORD="s3cr3t-of-the-project-env" # local\n')
  const server = { command: '/bin/false', args: [], env: { GITHUB_TOKEN: 'key-of-my-mcp-server' } }
  const ofAgent = world.env['CLAUDE_CONFIG_DIR'] ?? ''
  mkdirSync(ofAgent, { recursive: true })
  writeFileSync(join(ofAgent, '.claude.json'), JSON.stringify({ mcpServers: { github: server } }))
  const config = join(tempDir(t), 'own.toml')
  writeFileSync(
    config,
    '[notifications.telegram]\nbot_token = "own-bot-token-1"\n[notifications.ntfy]\ntopic = "env:PCC_TEST_TOPIC"\n',
  )
  const { id } = await world.start('show it all', {
    config,
    settings: {},
    env: { ...world.env, PCC_TEST_TOPIC: 'my-own-topic-1' },
  })
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.equal(
    bodiesOf(await world.log(id), 'agent.said')[0]?.text,
    'Stripe sk_live_[hidden], database [hidden], bot [hidden], channel [hidden], server [hidden].',
  )
})

test("a name is never another session's id, and a requirements file does not name the session by its path", async t => {
  const world = await inProcess(t, SCENARIO)
  const first = await world.start('read it')
  for (const name of [first.id, first.id.slice(2)]) {
    assert.equal((await world.start('read it', { name })).name, `${name}-2`)
  }
  const { name } = await world.start('Requirements (/home/me/secret-client.md):\n\nread it twice')
  assert.equal(name, 'read-it-twice')
})
