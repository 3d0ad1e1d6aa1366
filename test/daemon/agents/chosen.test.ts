import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type DriverRequest, openDrivers } from '../../../src/agents/open.ts'
import type { AgentScript } from '../../agents/acp/scripted-agent.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { scriptedWorld } from '../../supervisor/session/scripted-world.ts'
import { tempDir } from '../../support/world.ts'

const AGENT = fileURLToPath(new URL('../../agents/acp/scripted-agent.ts', import.meta.url))
const COMMAND = `${process.execPath} ${AGENT}`

/** The daemon's parts with the real ACP driver and a user-defined agent called "mine"; claude follows a script. */
async function worldWithMine(t: TestContext, script: AgentScript = { prompt: SAYS_DONE }) {
  const drivers = openDrivers(() => undefined)
  t.after(() => drivers[Symbol.asyncDispose]())
  const agent = scriptedAgent()
  const wanted: DriverRequest[] = []
  const world = await scriptedWorld(t, agent, {}, async each => {
    wanted.push(each)
    return each.agent.kind === 'custom' ? drivers.get(each) : agent.driver
  })
  // Its script is part of this project, which a sandbox would hide; on a machine that has one, the agent would run inside it.
  const settings: Record<string, string> = { PCC_AGENTS_ENV: 'ACP_*', PCC_AGENTS_SANDBOX: 'off' }
  const config = join(tempDir(t), 'config.toml')
  writeFileSync(config, `[agents.custom.mine]\ncommand = ${JSON.stringify(COMMAND)}\n`)
  const heard = join(tempDir(t), 'heard')
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: tempDir(t),
    ACP_SCRIPT: JSON.stringify(script),
    ACP_HEARD: heard,
    ANTHROPIC_API_KEY: 'sk-not-yours',
  }
  const said = () => (existsSync(heard) ? readFileSync(heard, 'utf8') : '')
  return { ...world, settings, wanted, said, request: { config, env, settings } }
}

const SAYS_DONE = [{ say: 'Done.' }, { answer: { stopReason: 'end_turn' } }]

test('a custom agent of the person’s own settings does the work of a session, which keeps it', async t => {
  const world = await worldWithMine(t)
  const settings = { ...world.settings, PCC_AGENTS_UNATTENDED: 'mine' }
  const id = await world.start('say done', { ...world.request, settings, agent: 'mine' })
  await world.ended(id, 1)
  const view = await world.view(id)
  assert.deepEqual([view.agent, view.status], ['mine', 'completed'])
  const row = await world.store.sessions.get(id)
  assert.deepEqual(row?.options.chosen, { kind: 'custom', name: 'mine', command: [process.execPath, AGENT] })
  assert.match(world.said(), /session\/prompt.*say done/)
})

test('PCC_AGENT and agent.command choose where no flag does, and a flag stands above them', async t => {
  const world = await worldWithMine(t)
  const settings = { ...world.settings, PCC_AGENT: COMMAND, PCC_AGENTS_UNATTENDED: 'mine,node' }
  const alone = await world.call('POST', '/sessions', { ...world.request, settings, project: tempDir(t), task: 'x' })
  assert.equal(alone.body.error.code, 'agent_not_held', 'the name of a program lets nobody work alone')
  const byVariable = await world.start('one', { ...world.request, settings, attach: true })
  const byFlag = await world.start('two', { ...world.request, settings, agent: 'mine' })
  await Promise.all([world.ended(byVariable, 1), world.ended(byFlag, 1)])
  assert.match((await world.view(byVariable)).agent ?? '', /^node scripted-agent\.ts \([0-9a-f]{6}\)$/)
  assert.equal((await world.view(byFlag)).agent, 'mine')
})

test('an agent that is only observed does not work alone unless agents.unattended names it', async t => {
  const world = await worldWithMine(t)
  const project = tempDir(t, 'pcc-project-')
  const start = (more: object) =>
    world.call('POST', '/sessions', { ...world.request, project, task: 'x', agent: 'mine', ...more })
  const refused = await start({})
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'agent_not_held'])
  assert.match(refused.body.error.next, /pcc config set agents\.unattended mine/)
  assert.equal((await start({ attach: true })).status, 201)
  const settings = { ...world.settings, PCC_AGENTS_UNATTENDED: 'mine' }
  assert.equal((await start({ settings })).status, 201)
  assert.equal((await start({ settings: { ...settings, PCC_AGENTS_UNATTENDED: 'other' } })).status, 409)
})

test('an agent that may not work alone stops when the last person leaves, and goes on only with one', async t => {
  const waits = [{ say: 'I wait.' }, { awaitCancel: true as const }, { answer: { stopReason: 'cancelled' } }]
  const world = await worldWithMine(t, { prompt: waits })
  const id = await world.start('wait', { ...world.request, agent: 'mine', attach: true })
  const leave = world.terminals.attach(id)
  await world.when(id, ({ status }) => status === 'processing')
  leave()
  await world.ended(id, 1)
  const { status, reason } = await world.view(id)
  assert.equal(status, 'paused')
  assert.match(reason ?? '', /nobody watches any more/)
  const { env } = world.request
  const alone = await world.call('POST', `/sessions/${id}/resume`, { env })
  assert.deepEqual([alone.status, alone.body.error.code], [409, 'agent_not_held'])
  assert.equal((await world.call('POST', `/sessions/${id}/resume`, { env, attach: true })).status, 200)
})

test('a project’s file names no agent until it is trusted, and a custom agent never', async t => {
  const world = await worldWithMine(t)
  const project = tempDir(t, 'pcc-project-')
  mkdirSync(join(project, '.git'))
  writeFileSync(join(project, '.perpetualcc.toml'), `agent.command = "${COMMAND} --evil"\n`)
  const asked = { ...world.request, project, task: 'x', settings: { ...world.settings, PCC_AGENTS_UNATTENDED: 'node' } }
  assert.equal((await world.call('POST', '/sessions', asked)).status, 201)
  assert.deepEqual(
    world.wanted.map(({ agent }) => agent),
    [{ kind: 'claude', name: 'claude' }],
  )
  writeFileSync(join(project, '.perpetualcc.toml'), '[agents.custom.mine]\ncommand = "/bin/evil"\n')
  const { body } = await world.call('POST', '/sessions', asked)
  assert.equal(body.error.code, 'config_invalid')
})

for (const [agent, code] of [
  ['gemini --nope "x', 'agent_malformed'],
  ['gemni', 'agent_unknown'],
  ['/nowhere/at-all --acp', 'agent_not_installed'],
  ['gemini', 'agent_not_installed'],
] as const) {
  test(`the agent ${agent} starts nothing: ${code}`, async t => {
    const world = await worldWithMine(t)
    const project = tempDir(t, 'pcc-project-')
    const asked = { ...world.request, project, task: 'x', agent }
    const { status, body } = await world.call('POST', '/sessions', asked)
    assert.deepEqual([status, body.error.code], [400, code])
    const run = await world.call('POST', '/runs', { ...asked, task: undefined, target: { kind: 'project' } })
    if (code !== 'agent_not_installed') assert.deepEqual([run.status, run.body.error.code], [400, code])
    assert.deepEqual(await world.store.sessions.list(), [])
  })
}

test('a session goes on with its own agent, whatever the settings say by then', async t => {
  const world = await worldWithMine(t, { prompt: [{ say: 'I stop here.' }, { exit: 3 }] })
  const settings = { ...world.settings, PCC_AGENT: 'mine', PCC_AGENTS_UNATTENDED: 'mine' }
  const id = await world.start('x', { ...world.request, settings })
  await world.ended(id, 1)
  const row = await world.store.sessions.get(id)
  await world.store.sessions.update(id, {
    options: { ...row?.options, project: row?.project ?? '', task: 'x', settings: world.settings },
  })
  await world.call('POST', `/sessions/${id}/resume`, { env: world.request.env })
  await world.ended(id, 2)
  assert.deepEqual(new Set(world.wanted.map(({ agent }) => agent.name)), new Set(['mine']))
})

test('an agent of another vendor is not given Claude’s key', async t => {
  const world = await worldWithMine(t, { prompt: [{ say: 'Working.' }, { hang: true }] })
  const settings = { ...world.settings, PCC_AGENTS_UNATTENDED: 'mine' }
  const id = await world.start('x', { ...world.request, settings, agent: 'mine' })
  await world.when(id, ({ status }) => status === 'processing')
  const kept = readFileSync(join(world.runDir, 'secrets', `${id}.json`), 'utf8')
  assert.match(kept, /ACP_SCRIPT/)
  assert.doesNotMatch(kept, /sk-not-yours/)
})
