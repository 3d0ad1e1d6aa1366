import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { read } from '../../../src/agents/checkpoints/read.ts'
import { openStore } from '../../../src/store/open.ts'
import { restore, saveCheckpoint } from '../../../src/supervisor/session/checkpoints.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { scriptedWorld } from './scripted-world.ts'
import { sessionDepsOn } from './session-deps.ts'

test('a conversation that has not heard of its next task gets its text, and one that has is told to go on', async t => {
  const dir = tempDir(t)
  await using store = await openStore({ file: join(dir, 'store.db') })
  const deps = sessionDepsOn(store, { checkpoints: join(dir, 'checkpoints') })
  const session = 's-000001'
  const inserted = { id: session, name: 'one', project: '/p', task: 'first', agent: 'none' }
  const row = { ...(await store.sessions.insert(inserted)), vendor_id: 'v-1' }
  const {
    settings: { driver },
  } = aLiveSession()
  const prompt = async () =>
    (await restore({ row, driver, env: {}, manifest: { name: 'none', resume: 'resume' } }, deps)).prompt
  const appendSaid = (text: string) =>
    store.transaction(tx => tx.append([{ actor: 'agent', subject: session, kind: 'agent.said', body: { text } }]))
  const claimNext = () => store.transaction(tx => deps.tasks.claimNext(session, tx))
  await store.transaction(async tx => {
    for (const text of ['the first task', 'the second task'])
      await deps.tasks.submit({ session_id: session, project: '/p', text }, tx)
  })

  const first = await claimNext()
  assert.ok(first)
  assert.match(await prompt(), /^The work was interrupted/, 'a conversation begins with its first task')
  await appendSaid('I have done it')
  await store.transaction(tx => deps.tasks.transition(first.id, { to: 'done', result: '', attempt: first.attempt }, tx))
  await claimNext()
  assert.equal(await prompt(), 'the second task', 'the daemon died before the task was sent')
  await appendSaid('I begin with the second')
  assert.match(await prompt(), /^The work was interrupted/)
})

test('a failed task that is retried is told to go on, unless the model never answered or the conversation is gone', async t => {
  const refused = { kind: 'refusal', message: 'It will not.' } as const
  let refuses: 'at once' | 'later' | undefined = 'at once'
  const agent = scriptedAgent(() =>
    refuses === 'at once' ? { refused } : refuses === 'later' ? { failure: refused } : {},
  )
  const world = await scriptedWorld(t, agent)
  const id = await world.start('the task')
  const retry = async (next: typeof refuses) => {
    await world.when(id, ({ status }) => status === 'error')
    refuses = next
    assert.equal((await world.call('POST', `/sessions/${id}/retry`, {})).status, 200)
  }
  await retry('later')
  await world.ended(id, 2)
  await retry('later')
  await world.ended(id, 3)
  agent.lose()
  await retry(undefined)
  await world.when(id, ({ status }) => status === 'completed')
  const [first, second, third, last] = agent.prompts
  assert.deepEqual([first, second], ['the task', 'the task'], 'the model had not answered')
  assert.match(
    third ?? '',
    /^The work was interrupted. Go on/,
    'the conversation knows the task and what was done of it',
  )
  assert.match(last ?? '', /the task/, 'a new conversation knows nothing')
  assert.equal(agent.prompts.length, 4)
})

test('a checkpoint at the end of a session has the task at work as the end leaves it, and the others as they are', async t => {
  const dir = tempDir(t)
  await using store = await openStore({ file: join(dir, 'store.db') })
  const deps = sessionDepsOn(store, { checkpoints: join(dir, 'checkpoints') })
  const inserted = { id: 's-000001', name: 'one', project: dir, task: 'first', agent: 'none' }
  const row = await store.sessions.insert(inserted)
  await store.transaction(async tx => {
    for (const text of ['first', 'second']) await deps.tasks.submit({ session_id: row.id, project: dir, text }, tx)
  })
  const task = await store.transaction(tx => deps.tasks.claimNext(row.id, tx))
  assert.ok(task)
  const live = aLiveSession({ ...row, task_id: task.id })
  await saveCheckpoint(live, deps, { reason: 'pause', task: { to: 'waiting', reason: 'paused' } })
  const saved = (await read(deps.checkpoints, row.id)).good?.checkpoint
  assert.deepEqual(
    saved?.queue.map(({ state }) => state),
    ['waiting', 'ready'],
  )
})

test('after a death, a task that began after the newest checkpoint is the one that goes on', async t => {
  const dir = tempDir(t)
  await using store = await openStore({ file: join(dir, 'store.db') })
  const deps = sessionDepsOn(store, { checkpoints: join(dir, 'checkpoints') })
  const session = 's-000001'
  const row = await store.sessions.insert({ id: session, name: 'one', project: dir, task: 'first', agent: 'none' })
  const { driver } = aLiveSession().settings
  const prompt = async (vendor_id: string | null) =>
    (await restore({ row: { ...row, vendor_id }, driver, env: {}, manifest: { name: 'none', resume: 'resume' } }, deps))
      .prompt
  const say = (text: string) =>
    store.transaction(tx => tx.append([{ actor: 'agent', subject: session, kind: 'agent.said', body: { text } }]))
  await store.transaction(async tx => {
    for (const text of ['the first task', 'the second task'])
      await deps.tasks.submit({ session_id: session, project: dir, text }, tx)
  })
  const claim = async () => {
    const task = await store.transaction(tx => deps.tasks.claimNext(session, tx))
    assert.ok(task)
    return task
  }

  const first = await claim()
  await say('I begin with the first')
  await saveCheckpoint(aLiveSession({ ...row, task_id: first.id }), deps, { reason: 'interval' })
  assert.doesNotMatch(await prompt(null), /The next task/, 'the checkpoint knows the task')
  await store.transaction(tx => deps.tasks.transition(first.id, { to: 'done', result: '', attempt: first.attempt }, tx))
  const second = await claim()
  await say('I begin with the second')
  assert.match(await prompt('v-1'), /^The work was interrupted\. Go on/, 'the conversation knows the second task')
  assert.match(await prompt(null), /The next task:\nthe second task$/)

  await saveCheckpoint(aLiveSession({ ...row, task_id: second.id }), deps, { reason: 'interval' })
  assert.doesNotMatch(await prompt(null), /The next task/)
})
