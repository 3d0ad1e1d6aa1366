import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { AddedTask, TaskView } from '../../../src/domain/task.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess, type Sessions } from '../in-process.ts'

/** The first task lasts until the file `go` exists. */
const SCENARIO = `
conversations:
  - match: the first job
    turns:
      - fault: { kind: overloaded, until_file: '{{cwd}}/go' }
        text: Did the first job.
    otherwise: { text: 'Did {{prompt}}.' }
`

test('a session works through its queue by priority and by what comes after what, in one conversation', async t => {
  const { world, id } = await atWork(await agentSessions(t, SCENARIO))
  const docs = await add(world, id, 'the docs')
  const added = [
    docs,
    await add(world, id, 'the bug', { priority: 5 }),
    await add(world, id, 'the release', { priority: 9, after: [docs.task.id] }),
    await add(world, id, 'the tidying', { priority: -1 }),
    await add(world, id, 'the review', { after: ['the docs'] }),
  ]
  assert.deepEqual(
    added.map(({ task, will }) => [task.title, task.state, will]),
    [
      ['the docs', 'ready', 'next'],
      ['the bug', 'ready', 'next'],
      ['the release', 'blocked', 'after'],
      ['the tidying', 'ready', 'in_line'],
      ['the review', 'blocked', 'after'],
    ],
  )
  const order = ['Do the first job', 'the bug', 'the docs', 'the release', 'the review', 'the tidying']
  const { body: shown } = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  assert.deepEqual(
    shown.queue?.map(({ title }) => title),
    order,
  )
  assert.equal(shown.task_id, shown.queue?.[0]?.id)

  go(world)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const events = await world.log(id)
  assert.deepEqual(
    bodiesOf(events, 'task.started').map(({ title }) => title),
    order,
  )
  assert.deepEqual(
    bodiesOf(events, 'task.finished').map(({ title, result }) => [title, result]),
    order.map((title, index) => [title, index === 0 ? 'Did the first job.' : `Did ${title}.`]),
  )
  assert.equal(bodiesOf(events, 'agent.started').length, 1, 'one agent')
  const vendors = new Set(bodiesOf(events, 'agent.started').map(({ vendor_id }) => vendor_id))

  const more = await add(world, id, 'one more thing')
  assert.equal(more.will, 'now')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  t.after(() => stream.close())
  await stream.until(event => event.kind === 'task.finished' && event.body.title === 'one more thing')
  const { body: over } = await world.daemon.call<{ queue: TaskView[]; tasks: TaskView[] }>(
    'GET',
    `/sessions/${id}/tasks`,
  )
  assert.deepEqual([over.queue, over.tasks.length, over.tasks.at(-1)?.result], [[], 7, 'Did one more thing.'])
  for (const { vendor_id } of bodiesOf(await world.log(id), 'agent.started')) vendors.add(vendor_id)
  assert.equal(vendors.size, 1, 'it goes on in the same conversation')
})

test('a task is taken out of the queue before it has begun, and not after', async t => {
  const { world, id } = await atWork(await inProcess(t, SCENARIO))
  const unwanted = await add(world, id, 'unwanted')
  const after = await add(world, id, 'follows', { after: ['unwanted'] })
  const path = (ref: string) => `/sessions/${id}/tasks/${encodeURIComponent(ref)}`
  const { body } = await world.daemon.call<{ task: TaskView }>('DELETE', path('unwanted'))
  assert.deepEqual(
    [body.task.id, body.task.state, body.task.reason],
    [unwanted.task.id, 'cancelled', 'cancelled by a person'],
  )
  const { body: now } = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  const left = now.queue?.find(task => task.id === after.task.id)
  assert.equal(left?.reason, `comes after ${unwanted.task.id} (unwanted), which was cancelled`)

  const begun = await world.daemon.call('DELETE', path('do the first'))
  assert.deepEqual([begun.status, begun.body.error.code], [409, 'task_at_work'])
  const again = await world.daemon.call('DELETE', path(unwanted.task.id))
  assert.deepEqual([again.status, again.body.error.code], [409, 'task_move_refused'])
  const unknown = await world.daemon.call('DELETE', path('nothing'))
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'task_unknown'])
})

test('what cannot be queued is refused by name, and nothing is left of it', async t => {
  const { world, id } = await atWork(await inProcess(t, SCENARIO))
  const post = (body: object) => world.daemon.call('POST', `/sessions/${id}/tasks`, { body })
  for (const [body, status, code, words] of [
    [{ task: ' ' }, 400, 'task_empty', /empty/],
    [{}, 400, 'bad_request', /task/],
    [{ task: 'x', priority: 1.5 }, 400, 'bad_request', /priority/],
    [{ task: 'x', colour: 'red' }, 400, 'bad_request', /colour/],
    [{ task: 'x', after: ['nothing like it'] }, 404, 'task_unknown', /nothing like it/],
  ] as const) {
    const reply = await post(body)
    assert.deepEqual([reply.status, reply.body.error.code], [status, code])
    assert.match(reply.body.error.message, words)
  }
  const { body } = await world.daemon.call<{ tasks: TaskView[] }>('GET', `/sessions/${id}/tasks`)
  assert.equal(body.tasks.length, 1)
})

test('a more urgent task that is added while a session waits for its place comes after the one it was started with', async t => {
  const world = await inProcess(t, SCENARIO, { env: { PCC_SESSIONS_MAX_CONCURRENT: '1' } })
  patient(world)
  const front = await world.start('Do the first job')
  const { id, status } = await world.start('Do the first job in line')
  assert.equal(status, 'idle')
  assert.equal((await add(world, id, 'the urgent one', { priority: 9 })).will, 'next')
  go(world)
  const over = await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual([over.task, over.title], ['Do the first job in line', 'the urgent one'])
  const { body: all } = await world.daemon.call<{ sessions: SessionView[] }>('GET', '/sessions')
  assert.equal(all.sessions.find(session => session.id === id)?.title, 'the urgent one')
  assert.deepEqual(
    bodiesOf(await world.log(id), 'task.finished').map(({ title, result }) => [title, result]),
    [
      ['Do the first job in line', 'Did the first job.'],
      ['the urgent one', 'Did the urgent one.'],
    ],
  )
  await viewWhen(world.daemon, front.id, ({ status }) => status === 'completed')

  rmSync(join(world.project, 'go'))
  await world.start('Do the first job again')
  await add(world, id, 'the calm one')
  await add(world, id, 'the other urgent one', { priority: 9 })
  go(world)
  await viewWhen(world.daemon, id, ({ status, queue }) => status === 'completed' && queue?.length === 0)
  assert.deepEqual(
    bodiesOf(await world.log(id), 'task.finished')
      .slice(2)
      .map(({ title, result }) => [title, result]),
    [
      ['the calm one', 'Did the calm one.'],
      ['the other urgent one', 'Did the other urgent one.'],
    ],
    'the same holds for one that goes on',
  )
})

async function atWork(world: Sessions): Promise<{ world: Sessions; id: string }> {
  patient(world)
  const { id } = await world.start('Do the first job')
  await viewWhen(world.daemon, id, ({ queue }) => queue?.[0]?.state === 'running')
  return { world, id }
}

async function add(world: Sessions, id: string, task: string, more: object = {}): Promise<AddedTask> {
  const body = { task, env: world.env, ...more }
  const reply = await world.daemon.call<AddedTask>('POST', `/sessions/${id}/tasks`, { body })
  assert.equal(reply.status, 201, JSON.stringify(reply.body))
  return reply.body
}

/** An agent that gives up before the file is there would be begun a second time. */
function patient({ env }: Sessions): void {
  env['CLAUDE_CODE_MAX_RETRIES'] = '1000'
}

function go({ project }: Sessions): void {
  writeFileSync(join(project, 'go'), '')
}
