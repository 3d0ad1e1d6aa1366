import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FirstTask } from '../../../src/domain/task.ts'
import { bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: schema
    turns:
      - text: Did it.
    otherwise: { text: 'Did {{prompt}}.' }
`

const TASKS: FirstTask[] = [
  { id: 'schema', text: 'Make the schema', priority: 0, after: [] },
  { id: 'ui', text: 'Make the page', priority: 10, after: ['schema'] },
  { text: 'Write the docs', priority: -10, after: [] },
  { text: 'Test the page', priority: 0, after: ['ui', 'schema'] },
]

test('a session that begins with a whole queue works through it by priority and dependency, and is named by its title', async t => {
  const { start, daemon, log } = await inProcess(t, SCENARIO)
  const requirements = { title: 'Notes API', tasks: [], preferences: [], constraints: [] }
  const { id, name } = await start('Make the schema', { tasks: TASKS, requirements })
  assert.equal(name, 'notes-api')
  await viewWhen(daemon, id, ({ status, queue }) => status === 'completed' && queue?.length === 0)
  const events = await log(id)
  const submitted = bodiesOf(events, 'task.submitted')
  const titleOf = (task: string) => submitted.find(({ task_id }) => task_id === task)?.title
  assert.deepEqual(
    submitted.map(({ title, priority, after, state }) => [title, priority, after.map(titleOf), state]),
    [
      ['Make the schema', 0, [], 'ready'],
      ['Make the page', 10, ['Make the schema'], 'blocked'],
      ['Write the docs', -10, [], 'ready'],
      ['Test the page', 0, ['Make the page', 'Make the schema'], 'blocked'],
    ],
  )
  assert.deepEqual(
    bodiesOf(events, 'task.finished').map(({ title }) => title),
    ['Make the schema', 'Make the page', 'Test the page', 'Write the docs'],
  )
})

test('a list of first tasks that does not hold together is refused, and no session is made', async t => {
  const { daemon, project } = await inProcess(t, SCENARIO)
  const start = async (tasks: unknown[]) => {
    const body = { project, task: 'a', env: {}, tasks }
    const reply = await daemon.call('POST', '/sessions', { body })
    assert.equal(reply.status, 400, JSON.stringify(reply.body))
    return String(reply.body.error.message)
  }
  const a = { id: 'a', text: 'a', priority: 0, after: [] }
  assert.match(await start([{ ...a, text: 'b' }]), /tasks\.0\.text: it is not the text of task/)
  assert.match(await start([a, { ...a, id: 'b', after: ['c'] }]), /tasks\.1\.after: no task above it has the id "c"/)
  assert.match(await start([a, { ...a, id: 'b', after: ['b'] }]), /tasks\.1\.after: no task above it/)
  assert.match(await start([a, a]), /tasks\.1\.id: "a" is taken/)
  assert.match(await start([]), /tasks/)
  assert.match(await start(Array.from({ length: 1_001 }, () => ({ ...a, id: undefined }))), /tasks/)
  assert.deepEqual((await daemon.call('GET', '/sessions')).body.sessions, [])
})
