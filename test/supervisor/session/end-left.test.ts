import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { secretId } from '../../../src/base/ids.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { startTimeOf } from '../../../src/base/process/process-table.ts'
import { notLoggedIn } from '../../../src/domain/vendors.ts'
import { openStore } from '../../../src/store/open.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import { recordWakeFailure } from '../../../src/supervisor/limits/waker.ts'
import type { SessionDeps } from '../../../src/supervisor/session/context.ts'
import { pauseWaitingSession, stopWaitingSession } from '../../../src/supervisor/session/settle.ts'
import { isAliveInTerminal } from '../../../src/supervisor/session/terminal.ts'
import { tempDir } from '../../support/world.ts'

const ID = 's-000001'

for (const [what, end] of [
  ['stopped', stopWaitingSession],
  ['paused', pauseWaitingSession],
] as const) {
  test(`a session that rests is ${what} only when the agent it left in its terminal is gone`, async t => {
    const { store, row, gone } = await left(t)
    assert.equal(await isAliveInTerminal(await row()), true)
    assert.equal(await end(await row(), store, 1), true)
    await gone
    const { ended_as, marker, agent_pid } = await row()
    assert.deepEqual([ended_as, marker, agent_pid], [what, null, null])
  })
}

test('a session that was resumed meanwhile keeps its agent', async t => {
  const { store, row, child } = await left(t)
  const seen = await row()
  await store.sessions.update(ID, { state: 'starting', owner: 'boot-2' })
  assert.equal(await stopWaitingSession(seen, store, 1), false)
  assert.equal(child.exitCode ?? child.signalCode, null)
  assert.notEqual((await row()).marker, null)
})

test('the agent of a session that is over, or that is to end, does not count as one that goes on', async t => {
  const { store, row } = await left(t)
  await store.sessions.update(ID, { ended_as: 'stopped' })
  assert.equal(await isAliveInTerminal(await row()), false, 'the next daemon ends the agent')
  await store.sessions.update(ID, { ended_as: 'paused', intent: 'stop' })
  assert.equal(await isAliveInTerminal(await row()), false)
})

test('a session that cannot go on by itself says that its agent still runs', async t => {
  const { store, row } = await left(t)
  const deps = { store, clock: systemClock } as unknown as SessionDeps
  await recordWakeFailure(await row(), notLoggedIn({ kind: 'claude', name: 'Claude Code' }), deps)
  assert.match((await row()).status_reason ?? '', /still runs in its terminal.*pcc stop s-000001 ends it/)
})

/** A resting session of an earlier daemon, and a process that stands for its agent. */
async function left(t: TestContext) {
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  const mark = secretId(16)
  const { name, value } = sessionMarker(mark)
  const child = spawn('/bin/sleep', ['300'], { env: { [name]: value }, stdio: 'ignore' })
  const gone = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  const options: SessionRow['options'] = { project: '/p', task: 't', host: 'tmux' }
  await store.sessions.insert({
    ...{ id: ID, owner: null, name: 'one', project: '/p', task: 't', agent: 'claude', options, state: 'running' },
  })
  await store.sessions.update(ID, {
    ...{ state: 'ended', ended_as: 'paused', ended_at: 0, status_reason: 'x', marker: mark, agent_pid: pid },
    agent_started: (await startTimeOf(pid)) ?? null,
  })
  const row = async () => {
    const found = await store.sessions.get(ID)
    assert.ok(found)
    return found
  }
  return { store, row, child, gone }
}
