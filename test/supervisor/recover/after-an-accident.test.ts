import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { scriptedAgent } from '../steering/scripted-agent.ts'
import { scriptedWorld } from '../steering/scripted-world.ts'

test('a session of which a process withstood keeps its marker, by which that is ended before it goes on', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  agent.withstand()
  const held = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await held
  const paused = world.call('POST', `/sessions/${id}/pause`, {})
  while (!world.supervisor.run(id)?.pausing) await new Promise(resolve => setTimeout(resolve, 5))
  goOn()
  await paused
  await world.when(id, ({ status }) => status === 'paused')
  while (world.supervisor.run(id)) await new Promise(resolve => setTimeout(resolve, 5))
  const { marker } = (await world.store.sessions.get(id)) ?? {}
  assert.ok(marker, 'it is looked for by this later')

  const { name, value } = sessionMarker(marker)
  const left = spawn('/bin/sleep', ['600'], { env: { [name]: value }, stdio: 'ignore' })
  t.after(() => left.kill('SIGKILL'))
  const gone = once(left, 'exit')
  await world.call('POST', `/sessions/${id}/resume`, {})
  assert.deepEqual(await gone, [null, 'SIGKILL'])
  await world.when(id, ({ status }) => status === 'completed')
})

test('a clock that was set back does not keep a session from its checkpoints', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_CHECKPOINT_MINUTES: '10' })
  const held = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await held
  world.time.ahead = -3_600_000
  goOn()
  await world.when(id, ({ status }) => status === 'completed')
  const { body } = await world.call('GET', `/sessions/${id}/checkpoints`)
  const reasons = body.checkpoints.map(({ reason }: { reason: string }) => reason)
  assert.ok(reasons.includes('interval'), JSON.stringify(body))
})
