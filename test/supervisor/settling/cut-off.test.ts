import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ending } from '../../../src/supervisor/run.ts'
import { CUT_OFF, cutOff } from '../../../src/supervisor/settling/cut-off.ts'
import { aRun } from '../a-run.ts'
import { openLives } from '../runs/lives.ts'
import { scriptedAgent } from '../steering/scripted-agent.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

const NOW = 1_768_300_000_000
const STOPPED: Ending = { as: 'stopped', reason: 'the daemon was stopped', task: { to: 'waiting', reason: 'stopped' } }

test('a session that its daemon cuts off goes on with the next one, unless a person paused it', () => {
  for (const pausing of [undefined, 'gate', 'guard'] as const) {
    const ending = cutOff(STOPPED, aRun({}, { cutOff: true, pausing }), NOW)
    assert.deepEqual([ending.as, ending.reason, ending.resumesAt], ['paused', CUT_OFF, NOW])
    assert.deepEqual(ending.task, { to: 'waiting', reason: CUT_OFF, wakesAt: NOW })
  }
  const run = aRun({}, { cutOff: true, pausing: 'person' })
  const paused = cutOff(STOPPED, run, NOW)
  assert.deepEqual([paused.as, paused.resumesAt], ['paused', undefined])
  assert.equal(paused.reason, `paused by a person; go on with: pcc resume ${run.id}`)
})

test('a task that was done, or that the session had not taken, stays so when the daemon cuts it off', () => {
  for (const task of [{ to: 'done', result: 'All done.' } as const, undefined]) {
    for (const pausing of [undefined, 'person'] as const) {
      const ending = cutOff({ ...STOPPED, task }, aRun({}, { cutOff: true, pausing }), NOW)
      assert.deepEqual(ending.task, task)
    }
  }
})

test('only a session that was stopped for the daemon alone is cut off', () => {
  const done: Ending = { as: 'completed', reason: '' }
  assert.equal(cutOff(done, aRun({}, { cutOff: true }), NOW), done)
  assert.equal(cutOff(STOPPED, aRun({}, { cutOff: false, pausing: 'person' }), NOW), STOPPED)
})

test('what a person asked for while the daemon leaves holds with the next one: a pause, a stop', async t => {
  const agent = scriptedAgent()
  const { begin, project, store } = await openLives(t, agent)
  const life = await begin()
  const ids: Record<string, string> = {}
  const ways: (() => void)[] = []
  for (const [name, point] of [
    ['paused', 'tool'],
    ['stopped', 'opening'],
    ['at work', 'tool'],
  ] as const) {
    const there = agent.holdAt(point)
    ids[name] = (await life.call('POST', '/sessions', { project, task: name, env: {} })).body.id
    ways.push(await there)
  }
  const run = (name: string) => life.supervisor.run(ids[name] ?? '')
  const [atWork, stopping] = [run('at work'), run('stopped')]
  assert.equal((await life.call('POST', `/sessions/${ids['paused']}/pause`, {})).status, 200)
  const stopped = life.supervisor.stop(ids['stopped'] ?? '', 'its run was stopped')
  while (stopping?.stopping === undefined) await turn()
  const ended = life.end({ goOn: true })
  while (!atWork?.cutOff) await turn()
  for (const goOn of ways) goOn()
  await Promise.all([stopped, ended])

  const rows = async () => {
    const found = await Promise.all(Object.values(ids).map(id => store.sessions.get(id)))
    return found.map(row => [row?.ended_as, row?.resumes_at !== null])
  }
  assert.deepEqual(await rows(), [
    ['paused', false],
    ['stopped', false],
    ['paused', true],
  ])
  await begin()
  for await (const { kind, subject } of store.follow(0))
    if (kind === 'task.finished' && subject === ids['at work']) break
  assert.deepEqual((await rows()).slice(0, 2), [
    ['paused', false],
    ['stopped', false],
  ])
})
