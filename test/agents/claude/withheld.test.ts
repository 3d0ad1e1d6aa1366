import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDriver } from '../../../src/agents/open.ts'
import { secretId } from '../../../src/base/ids.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import { claudeAgent } from '../../../src/domain/agents/claude.ts'
import type { OpenSession, SessionEvent } from '../../../src/domain/session.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { agentEnv, gitProject, tempDir } from '../../support/world.ts'
import { ALLOW, asking, until } from '../conformance/world.ts'

// Another session closes the account's gate while this one begins: from that moment on its agent must not call the model.

const SCENARIO = `
conversations:
  - match: go
    turns: [{ text: Done. }]
  - match: work
    turns: [{ tools: [{ Bash: { command: touch begun; sleep 0.5; touch made, description: x } }] }, { text: Done. }]
`

async function world(t: TestContext) {
  const simulator = await openSimulator({ text: SCENARIO })
  const driver = await openDriver(claudeAgent, {})
  t.after(async () => {
    await driver.close()
    await simulator.close()
  })
  const cwd = gitProject(t)
  const env = agentEnv(tempDir(t, 'pcc-home-'), simulator.url)
  const options = (prompt: string, marker = secretId(12)): OpenSession => ({
    ...{ id: 's-000001', cwd, env, marker, asks: asking(() => ALLOW), isolation: 'auto', model: 'haiku', prompt },
    settingSources: ['user', 'project', 'local'],
  })
  return { simulator, driver, cwd, options }
}

async function allOf(events: AsyncIterable<SessionEvent>): Promise<string[]> {
  const kinds: string[] = []
  for await (const event of events)
    kinds.push(event.kind === 'turn_ended' ? `${event.kind}: ${event.outcome}` : event.kind)
  return kinds
}

for (const afterMs of [0, 30, 100]) {
  test(`an agent that is withheld ${afterMs} ms after it was opened never calls the model, and is gone`, async t => {
    const { simulator, driver, options } = await world(t)
    await using session = await driver.open(options('go'))
    await sleep(afterMs)
    await session.withhold?.()
    assert.deepEqual(await allOf(session.events), ['ended'])
    assert.deepEqual(simulator.requests, [])
    assert.equal(session.hasSurvivors, false)
  })
}

test('a process that waited is withheld while it takes the session on, and others may wait for the same folder later', async t => {
  const { simulator, driver, options } = await world(t)
  const open = options('go')
  await driver.warm(open)
  await using session = await driver.open(open)
  await session.withhold?.()
  assert.deepEqual(await allOf(session.events), ['ended'])
  assert.deepEqual(simulator.requests, [])
  const marker = secretId(12)
  await driver.warm(options('go', marker))
  assert.ok((await findMarked(sessionMarker(marker))).length > 0)
})

test('a session that may not begin any more says nothing, with a process that waited and with a fresh one', async t => {
  const { simulator, driver, options } = await world(t)
  const waiting = options('go')
  await driver.warm(waiting)
  for (const open of [waiting, options('go')]) {
    await using session = await driver.open({ ...open, mayBegin: () => false })
    assert.deepEqual(await allOf(session.events), ['ended'])
  }
  assert.deepEqual(simulator.requests, [])
})

test('an agent at work that is withheld finishes the tool in flight, and calls nobody after it', async t => {
  const { simulator, driver, cwd, options } = await world(t)
  await using session = await driver.open(options('work'))
  await until(() => existsSync(join(cwd, 'begun')))
  await session.withhold?.()
  for await (const event of session.events) {
    if (event.kind === 'turn_ended') {
      assert.equal(event.outcome, 'paused')
      break
    }
  }
  assert.ok(existsSync(join(cwd, 'made')))
  assert.equal(simulator.requests.length, 1)
})
