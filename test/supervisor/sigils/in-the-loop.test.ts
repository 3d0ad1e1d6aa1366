import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptedAgent } from '../steering/scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from '../steering/scripted-world.ts'

/** A world in which the agent reports what `report.text` says when its turn ends; `t-own` stands for its task. */
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

test('an agent that says that its task failed fails it, with its reason, and can be tried again', async t => {
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

test('a promise of failure without a reason takes the last words before it', async t => {
  const { world, start } = await reporting(t)
  const { id, goOn } = await start('First.\n\nThe repository\nis empty.\n<promise>FAILURE</promise>')
  goOn()
  await over(world, id)
  assert.equal((await world.store.tasks.list({ session: id }))[0]?.reason, 'The repository is empty.')
})

test('a word about another task, one in a fence and an early promise change nothing', async t => {
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
