import assert from 'node:assert/strict'
import { test } from 'node:test'
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
