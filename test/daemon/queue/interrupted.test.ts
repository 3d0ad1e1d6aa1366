import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { AddedTask } from '../../../src/domain/task.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { type DaemonProcess, startDaemon, viewWhen } from '../daemon-process.ts'

/** The first task lasts until the file `go` exists. */
const SCENARIO = `
conversations:
  - match: the first job
    turns:
      - fault: { kind: overloaded, until_file: '{{cwd}}/go' }
        text: Did the first job.
    otherwise: { text: 'Did {{prompt}}.' }
`

test('a daemon that is killed in the middle of a queue loses none of it, and each task is done once', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('Do the first job')
  await viewWhen(world.daemon, id, ({ queue }) => queue?.[0]?.state === 'running')
  for (const task of ['second', 'third']) await add(world.daemon, id, { task, env: world.env })
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended

  const daemon = await startDaemon(t, { home: world.daemon.home })
  const left = await viewOf(daemon, id)
  assert.deepEqual(
    left.queue?.map(({ title }) => title),
    ['Do the first job', 'second', 'third'],
  )
  await viewWhen(daemon, id, ({ queue }) => queue?.[0]?.state === 'running')
  assert.equal((await add(daemon, id, { task: 'fourth', priority: 4, env: world.env })).will, 'next')
  writeFileSync(join(world.project, 'go'), '')
  await viewWhen(daemon, id, ({ status, queue }) => status === 'completed' && queue?.length === 0)
  const events = (await daemon.call('GET', `/sessions/${id}/events`)).body.events
  assert.deepEqual(
    bodiesOf(events, 'task.finished').map(({ title, attempt }) => [title, attempt]),
    [
      ['Do the first job', 2],
      ['fourth', 1],
      ['second', 1],
      ['third', 1],
    ],
  )
})

test('a session that was stopped goes on with the task it was at, then with its queue', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { daemon } = world
  const { id } = await world.start('Do the first job')
  await viewWhen(daemon, id, ({ queue }) => queue?.[0]?.state === 'running')
  await add(daemon, id, { task: 'second', env: world.env })
  await daemon.call('POST', `/sessions/${id}/stop`)
  const stopped = await viewOf(daemon, id)
  assert.deepEqual(
    stopped.queue?.map(({ title, state }) => [title, state]),
    [
      ['Do the first job', 'waiting'],
      ['second', 'ready'],
    ],
  )
  const added = await add(daemon, id, { task: 'third', after: ['second'], env: world.env })
  assert.deepEqual([added.will, (await viewOf(daemon, id)).status], ['after', 'stopped'])
  writeFileSync(join(world.project, 'go'), '')
  await daemon.call('POST', `/sessions/${id}/resume`, { body: { env: world.env } })
  await viewWhen(daemon, id, ({ status, queue }) => status === 'completed' && queue?.length === 0)
  const finished = bodiesOf(await world.log(id), 'task.finished').map(({ title }) => title)
  assert.deepEqual(finished, ['Do the first job', 'second', 'third'])
})

async function add(daemon: DaemonProcess, id: string, body: object): Promise<AddedTask> {
  const reply = await daemon.call<AddedTask>('POST', `/sessions/${id}/tasks`, { body })
  assert.equal(reply.status, 201, JSON.stringify(reply.body))
  return reply.body
}

async function viewOf(daemon: DaemonProcess, id: string): Promise<SessionView> {
  return (await daemon.call<SessionView>('GET', `/sessions/${id}`)).body
}
