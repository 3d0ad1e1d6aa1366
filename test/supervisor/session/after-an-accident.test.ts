import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { undying } from '../../support/undying.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'

test('a session whose agent leaves a surviving process keeps its marker, and the process is ended by it before the session goes on', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  agent.withstand()
  const held = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await held
  const paused = world.call('POST', `/sessions/${id}/pause`, {})
  while (!world.supervisor.run(id)?.control.pausing) await new Promise(resolve => setTimeout(resolve, 5))
  goOn()
  await paused
  await world.when(id, ({ status }) => status === 'paused')
  while (world.supervisor.run(id)) await new Promise(resolve => setTimeout(resolve, 5))
  const { marker } = (await world.store.sessions.get(id)) ?? {}
  assert.ok(marker, 'the surviving process is found by this later')

  const { name, value } = sessionMarker(marker)
  const left = spawn('/bin/sleep', ['600'], { env: { [name]: value }, stdio: 'ignore' })
  t.after(() => left.kill('SIGKILL'))
  const gone = once(left, 'exit')
  await world.call('POST', `/sessions/${id}/resume`, {})
  assert.deepEqual(await gone, [null, 'SIGKILL'])
  await world.when(id, ({ status }) => status === 'completed')
})

test('while a process of its agent lives, neither a person nor an answer nor its time resumes a session', async t => {
  const limit = { source: 'result', message: 'full', resetsAt: Date.now() + 60_000 } as const
  const agent = scriptedAgent(prompt => {
    if (prompt === 'be limited') return { refused: { kind: 'limit', message: 'full', limit } }
    return { asks: prompt === 'ask' || prompt === '(the parked call)' }
  })
  const world = await scriptedWorld(t, agent)
  const asking = await world.start('ask')
  await world.ended(asking, 1)
  const limited = await world.start('be limited')
  await world.ended(limited, 1)
  while (agent.open() > 0) await new Promise(resolve => setImmediate(resolve))
  const [marker, calls] = ['the-same-marker', agent.calls()]
  for (const id of [asking, limited]) await world.store.sessions.update(id, { marker })
  const left = await undying(t, marker)
  const escalations = async () => (await world.call('GET', '/escalations?state=open')).body.escalations
  const [{ number }] = await escalations()

  const answer = () => world.call('POST', `/escalations/${number}/answer`, { answer: ['this'], env: {} })
  const resume = (id: string) => world.call('POST', `/sessions/${id}/resume`, {})
  for (const { status, body } of [await answer(), await resume(limited)]) {
    assert.deepEqual([status, body.error?.code], [409, 'session_withstood'])
    assert.match(body.error.message, new RegExp(`\\b${left.pid}\\b`))
  }
  world.pass(3_600_000)
  await world.ended(limited, 2)
  const escalation = (await escalations()).find((row: { session_id: string }) => row.session_id === limited)
  assert.match(escalation.reason, new RegExp(`could not go on by itself.*\\b${left.pid}\\b`, 's'))
  assert.deepEqual([agent.calls(), agent.open()], [calls, 0], 'nothing was started beside it')
  assert.equal((await world.view(asking)).status, 'waiting_input', 'the question is still open')
  for (const id of [asking, limited]) assert.equal((await world.store.sessions.get(id))?.marker, marker)

  left.yield()
  assert.deepEqual([(await answer()).status, (await resume(limited)).status], [200, 200])
  for (const id of [asking, limited]) await world.when(id, ({ status }) => status === 'completed')
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
