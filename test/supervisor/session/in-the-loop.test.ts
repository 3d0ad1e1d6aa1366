import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { RunRow } from '../../../src/store/tables.ts'
import type { SessionDeps } from '../../../src/supervisor/session/context.ts'
import { readContext } from '../../../src/supervisor/session/execute.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { aLiveSession } from './live-session.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

/** A world in which the agent ends its turn with `report.text`; `t-own` in it stands for the id of its task. */
async function reporting(t: Parameters<typeof scriptedWorld>[0]) {
  const report = { text: 'All done.', task: '' }
  const agent = scriptedAgent(() => ({ says: () => report.text.replaceAll('t-own', report.task) }))
  const world = await scriptedWorld(t, agent)
  const start = async (text: string) => {
    report.text = text
    const ready = agent.holdAt('last request')
    const id = await world.start('first')
    const goOn = await ready
    const [task] = await world.store.tasks.list({ session: id })
    report.task = task?.id ?? ''
    return { id, goOn }
  }
  return { world, report, start }
}

const over = (world: ScriptedWorld, id: string) => world.when(id, ({ ended_at }) => ended_at !== null)

test('a task fails with the reason that its agent gives, and can be retried', async t => {
  const { world, report, start } = await reporting(t)
  const { id, goOn } = await start('I looked everywhere.\n\n<task-failed>t-own: the API is gone</task-failed>')
  goOn()
  const view = await over(world, id)
  assert.equal(view.status, 'error')
  assert.match(view.reason ?? '', /^The agent says that its task failed: the API is gone\nTry it again with: pcc retry/)
  const [task] = await world.store.tasks.list({ session: id })
  assert.deepEqual([task?.state, task?.reason], ['failed', 'the API is gone'])
  assert.match(task?.result ?? '', /I looked everywhere/)
  report.text = 'Found it.'
  assert.equal((await world.call('POST', `/sessions/${id}/retry`, {})).status, 200)
  await world.when(id, ({ status }) => status === 'completed')
  assert.equal((await world.store.tasks.list({ session: id }))[0]?.state, 'done')
})

test('a promise of failure without a reason takes the text before it as the reason', async t => {
  const { world, start } = await reporting(t)
  const { id, goOn } = await start('First.\n\nThe repository\nis empty.\n<promise>FAILURE</promise>')
  goOn()
  await over(world, id)
  assert.equal((await world.store.tasks.list({ session: id }))[0]?.reason, 'The repository is empty.')
})

test('a sigil about another task, one in a fence and an early promise change nothing', async t => {
  const { world, start } = await reporting(t)
  const { id, goOn } = await start(
    [
      '<task-failed>t-000000</task-failed>',
      '```',
      '<promise>FAILURE</promise>',
      '```',
      '<promise>COMPLETE</promise>',
      '<task-done>t-own</task-done>',
    ].join('\n'),
  )
  assert.equal((await world.call('POST', `/sessions/${id}/tasks`, { task: 'second' })).status, 201)
  goOn()
  assert.equal((await over(world, id)).status, 'completed')
  const tasks = await world.store.tasks.list({ session: id })
  assert.deepEqual(
    tasks.map(({ state }) => state),
    ['done', 'done'],
  )
})

test('in a run an early promise is logged while other tasks of the run are open, and not after that', async t => {
  const { world } = await reporting(t)
  const { store } = world
  const tasks = openTasks({ store, clock: { now: Date.now } })
  const submit = (text: string) =>
    store.transaction(tx => tasks.submit({ session_id: null, project: '/p', text, after: [] }, tx))
  const [own, other] = [await submit('own'), await submit('other')]
  const nothing = { outcome: null, reason: null, gave_up: null, stopping: false, ended_at: null } as const
  const target = { kind: 'project' } as const
  const row: RunRow = {
    ...nothing,
    id: 'r-1',
    project: '/p',
    target,
    options: {},
    state: 'running',
    iterations: 1,
    created_at: 0,
  }
  await store.transaction(tx => store.runs.insert(row, tx))
  const notes: unknown[] = []
  const log = { ...silentLog, info: (fields: Record<string, unknown>) => void notes.push(fields['why']) }
  const { options, ...rest } = aLiveSession().row
  const place = { id: 'r-1', iteration: 1, total: 2 }
  const live = aLiveSession({ ...rest, task_id: own.id, options: { ...options, run: place } }, { log })
  const deps = { store, tasks, clock: { now: Date.now } } as unknown as SessionDeps
  const complete = { type: 'task_complete', text: '<promise>COMPLETE</promise>' } as const
  await readContext(complete, { live, deps })
  assert.deepEqual(notes, ['one task is still open'])
  await store.transaction(tx => tasks.force(other, { to: 'cancelled' }, tx))
  await readContext(complete, { live, deps })
  assert.equal(notes.length, 1)
})
