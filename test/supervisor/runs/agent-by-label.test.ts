import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartSession } from '../../../src/domain/api.ts'
import { RunOptions } from '../../../src/domain/run.ts'
import type { Task } from '../../../src/domain/task.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import { agentByLabel, requestFor } from '../../../src/supervisor/runs/begin-next.ts'

test('failover.labels: a task begins with the agent of its first label that is named, others with the one of the run', () => {
  const pairs = ['docs=gemini', 'hard=codex --model gpt-5.5']
  assert.equal(agentByLabel({ labels: ' ui docs ' }, pairs), 'gemini')
  assert.equal(agentByLabel({ labels: ' hard ' }, pairs), 'codex --model gpt-5.5')
  assert.equal(agentByLabel({ labels: ' docsy ' }, pairs), undefined)
  const run = { project: '/p', options: { agent: 'claude' } } as unknown as RunRow
  const wanted = { prompt: 'p', model: undefined, env: {}, budget: undefined }
  assert.equal(requestFor(run, { title: 't' } as Task, { ...wanted, agent: 'gemini' }).agent, 'gemini')
  assert.equal(requestFor(run, { title: 't' } as Task, wanted).agent, 'claude')
})

test('a session of a run gets every option that sessions share, and none that is the run’s own', () => {
  const options = Object.fromEntries(Object.keys(RunOptions.shape).map(name => [name, { of: name }]))
  const run = { project: '/p', options } as unknown as RunRow
  const request = requestFor(run, { title: 't' } as Task, { prompt: 'p', model: undefined, env: {}, budget: undefined })
  const { project, task, name, env, ...given } = request
  // The model is chosen for each attempt, and the budget is what the run has left.
  const shared = Object.keys(RunOptions.shape).filter(
    option => Object.hasOwn(StartSession.shape, option) && option !== 'model' && option !== 'budget',
  )
  assert.deepEqual(given, Object.fromEntries(shared.map(option => [option, { of: option }])))
})
