import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { secretId } from '../../src/base/ids.ts'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { findMarked } from '../../src/base/process/sweep.ts'
import { tempDir } from '../support/world.ts'
import { claude, claudeProgram } from './claude-adapter.ts'
import { asking, DENY, World } from './conformance/world.ts'

const PARK = { park: true as const, reason: 'nobody is awake' }

test('a parked call is judged on resume even when our first words reach the agent late', async t => {
  // Reads are the dangerous calls here: Claude Code runs them without an ask while it has no hook.
  const world = await World.open(t, claude, [
    { prompt: 'read', steps: [{ calls: [{ run: 'cat README.md' }] }, { say: 'Refused, then.' }] },
  ])
  const talk = await world.talk('read', { asks: asking(() => PARK) })
  assert.equal((await talk.turn()).outcome, 'parked')
  const vendorId = talk.session.vendorId ?? ''
  await talk.close()

  const driver = await claude.openDriver({ executable: lateListener(tempDir(t)) })
  t.after(() => driver.close())
  const asks = asking(() => DENY)
  await using session = await driver.open(world.options({ asks, resume: { vendorId, fork: false } }))
  for await (const event of session.events) if (event.kind === 'turn_ended') break
  assert.equal(asks.requests.length, 1)
  assert.match(world.model.told(), /not on my watch/)
  assert.doesNotMatch(world.model.told(), /# sample/)
})

test('a session that waits in line with an answer to a parked call is not started ahead of it: nobody could answer yet', async t => {
  const world = await World.open(t, claude, [
    { prompt: 'write', steps: [{ calls: [{ run: 'touch answered.txt' }] }, { say: 'Done, then.' }] },
  ])
  const talk = await world.talk('write', { asks: asking(() => PARK) })
  assert.equal((await talk.turn()).outcome, 'parked')
  const vendorId = talk.session.vendorId ?? ''
  await talk.close()

  const driver = await claude.openDriver({})
  t.after(() => driver.close())
  const asks = asking(() => ({ ...DENY, verdict: 'allow' }))
  const marker = secretId(12)
  const open = world.options({ asks, marker, resume: { vendorId, fork: false } })
  await driver.warm(open)
  assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  await using session = await driver.open(open)
  for await (const event of session.events) if (event.kind === 'turn_ended') break
  assert.equal(asks.requests.length, 1)
  assert.doesNotMatch(world.model.told(), /could not be judged/)
  assert.equal(world.has('answered.txt'), true)
})

test('a resume without a prompt ends by itself when no call was parked', { timeout: 60_000 }, async t => {
  const world = await World.open(t, claude, [{ prompt: 'hello', steps: [{ say: 'Hello.' }] }], {
    driver: { reofferMs: 1500 },
  })
  const talk = await world.talk('hello')
  await talk.turn()
  const vendorId = talk.session.vendorId ?? ''
  await talk.close()
  const resumed = await world.talk(undefined, { resume: { vendorId, fork: false } })
  const ended = await resumed.until('ended')
  assert.equal(ended.reason, 'failed')
  assert.match(ended.failure?.message ?? '', /no parked call/)
})

test('a call of a subagent cannot be parked: it is refused with the reason', async t => {
  const world = await World.open(t, claude, [
    { prompt: 'send a helper', steps: [{ calls: [{ delegate: 'Look around.' }] }, { say: 'It went on.' }] },
    { prompt: 'Look around', steps: [{ calls: [{ run: 'touch parked.txt' }] }, { say: 'I could not.' }] },
  ])
  const asks = asking(({ agentId }) => (agentId === undefined ? { ...DENY, verdict: 'allow' } : PARK))
  const talk = await world.talk('send a helper', { asks })
  assert.equal((await talk.turn()).text, 'It went on.')
  assert.match(world.model.told(), /nobody is awake/)
  assert.equal(world.has('parked.txt'), false)
})

/** The real program, whose standard input arrives 1.5 s late. */
function lateListener(dir: string): string {
  const path = join(dir, 'late-claude')
  writeFileSync(path, `#!/bin/sh\n(sleep 1.5; exec cat) | "${claudeProgram()}" "$@"\n`)
  chmodSync(path, 0o755)
  return path
}
