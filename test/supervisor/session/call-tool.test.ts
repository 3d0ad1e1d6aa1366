import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AGENT_TOOL_NAMES, type AgentToolName } from '../../../src/domain/agent-tools.ts'
import { openStore } from '../../../src/store/open.ts'
import { askOverSocket } from '../../../src/supervisor/session/asks.ts'
import { claimedFailure, MOST_OF_SESSION } from '../../../src/supervisor/session/task-tools.ts'
import { callTool } from '../../../src/supervisor/session/tools.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'
import { sessionDepsOn } from './session-deps.ts'

/** A session of a run that works on a task of a feature. */
async function atWork(t: TestContext) {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const deps = sessionDepsOn(store)
  const run = { id: 'r-1', iteration: 1, total: 1 }
  const row = await store.sessions.insert({ id: 's-000001', name: 'one', project: '/p', task: 't', agent: 'none' })
  const submit = (text: string, more: { project?: string; feature?: string } = {}) =>
    store.transaction(tx => deps.tasks.submit({ session_id: null, project: '/p', text, ...more }, tx))
  const own = await submit('own', { feature: 'paint' })
  const session = aLiveSession({ ...row, task_id: own.id, options: { ...row.options, run } }, { attempt: own.attempt })
  session.settings.open = { ...session.settings.open, ownTools: AGENT_TOOL_NAMES }
  const call = (name: AgentToolName, input: unknown = {}) => callTool(name, input, { live: session, deps })
  return { store, deps, session, own, submit, call }
}

test('an agent adds tasks to the feature that it works on, and orders them', async t => {
  const { store, call } = await atWork(t)
  const added = await call('add_task', { title: ' Buy\npaint ', acceptance: ['there is paint'] })
  assert.match(added.text, /^Added t-\w{6} \(ready\): Buy paint$/)
  assert.match((await call('add_task', { title: 'Paint', after: ['Buy paint'] })).text, /\(blocked\)/)
  assert.match((await call('add_task', { title: 'Paint' })).text, /there already/, 'the same title is the same task')
  await call('add_task', { title: 'Dry' })
  assert.equal((await call('add_dependency', { task: 'Dry', after: 'Paint' })).ok, true)
  assert.match((await call('add_dependency', { task: 'Buy paint', after: 'Dry' })).text, /^Not done: .*→/, 'a circle')
  const tasks = await store.tasks.list({ project: '/p', feature: 'paint' })
  assert.deepEqual(
    tasks.map(({ title, state, acceptance }) => [title, state, acceptance]),
    [
      ['own', 'ready', ''],
      ['Buy paint', 'ready', 'there is paint'],
      ['Paint', 'blocked', ''],
      ['Dry', 'blocked', ''],
    ],
  )
})

test('a task that an agent adds in a worktree goes to the project, and not into the queue of its session', async t => {
  const { store, session, call } = await atWork(t)
  const place = { task: 't-1', attempt: 1, branch: 'b', target: 'main', base: '0', top: '/w', directory: '/w' }
  session.row = { ...session.row, options: { ...session.row.options, run: undefined, place } }
  await call('add_task', { title: 'Dry' })
  const [added] = await store.tasks.list({ project: '/p', text: 'Dry' })
  assert.deepEqual([added?.session_id, added?.state], [null, 'ready'])
})

test('an agent that keeps adding tasks is refused after a hundred, and told so each time', async t => {
  const { store, call } = await atWork(t)
  const replies = []
  for (let count = 0; count < MOST_OF_SESSION + 20; count++)
    replies.push(await call('add_task', { title: `task ${count}` }))
  assert.equal(replies.filter(({ ok }) => ok).length, MOST_OF_SESSION)
  for (const { text } of replies.slice(MOST_OF_SESSION))
    assert.match(text, /^Not done: .*100 tasks, which is the most.*report/)
  assert.equal((await store.tasks.list({ project: '/p' })).length, MOST_OF_SESSION + 1)
})

test('malformed input, other tasks and tools that the session does not have are refused with a reason', async t => {
  const { session, submit, call } = await atWork(t)
  const elsewhere = await submit('theirs', { project: '/q' })
  const beside = await submit('beside', { feature: 'other' })
  const reply = async (name: AgentToolName, input?: unknown) => {
    const { ok, text } = await call(name, input)
    assert.equal(ok, false, text)
    return text
  }
  assert.match(await reply('add_task', {}), /^Not done: title: /)
  assert.match(await reply('add_task', { title: 'x', project: '/q' }), /project/, 'an agent cannot choose the project')
  assert.match(await reply('add_task', { title: 'x'.repeat(201) }), /^Not done: title: /)
  assert.match(await reply('add_task', 'text'), /^Not done: /)
  // Neither a whole id nor the beginnings of ids tell an agent what there is in other projects.
  for (const ref of [elsewhere.id, elsewhere.id.slice(0, 5), elsewhere.id.slice(2, 3)]) {
    for (const said of [
      await reply('add_task', { title: 'x', after: [ref] }),
      await reply('add_dependency', { task: ref, after: beside.id }),
    ])
      assert.ok(/There is no task|could be any of/.test(said) && !/theirs|\/q/.test(said), said)
  }
  assert.match(
    await reply('add_dependency', { task: beside.id, after: beside.id }),
    /does not belong to what you work on/,
  )
  assert.match(await reply('failed', {}), /^Not done: reason: /)
  session.settings.open = { ...session.settings.open, ownTools: ['search'] }
  assert.match(await reply('add_task', { title: 'x' }), /not among the tools/)
})

test('the last claim of an agent counts, for the attempt that it holds', async t => {
  const { store, deps, session, own, call } = await atWork(t)
  const failure = () => claimedFailure({ live: session, deps })
  assert.equal(await failure(), undefined)
  assert.match((await call('failed', { reason: 'no brush' })).text, /End your turn/)
  assert.equal(await failure(), 'no brush')
  assert.match((await call('done')).text, /will be verified/)
  assert.equal(await failure(), undefined)
  assert.equal((await store.tasks.get(own.id))?.state, 'ready', 'a claim does not move the task by itself')
  await call('failed', { reason: 'no brush' })
  session.agent.attempt = own.attempt + 1
  assert.equal(await failure(), undefined, 'the claim was of an earlier attempt')
  assert.match((await call('done')).text, /^Not done: There is no task/, 'the task was taken away meanwhile')
})

test('the log takes lines up to a limit, and none of them holds a secret', async t => {
  const { store, session, own, call } = await atWork(t)
  Object.assign(session.settings, { secrets: ['hunter2hunter2'] })
  assert.equal((await call('log', { text: 'the key is hunter2hunter2' })).ok, true)
  const [noted] = await store.events({ subject: own.id, kinds: ['task.noted'] })
  assert.ok(noted?.kind === 'task.noted' && !noted.body.text.includes('hunter2'), JSON.stringify(noted))
  session.meters.toolCalls.set('log', 200)
  assert.match((await call('log', { text: 'more' })).text, /^Not done: 200 lines/)
})

test('claims and questions that nobody answers are limited in number', async t => {
  const { deps, session, call } = await atWork(t)
  session.meters.toolCalls.set('claim', 99)
  assert.equal((await call('done')).ok, true)
  assert.match((await call('failed', { reason: 'x' })).text, /^Not done: you have said 100 times/)
  session.meters.toolCalls.set('ask_human', 50)
  const asked = await askOverSocket({ question: 'Which?' }, { live: session, deps })
  assert.match(asked.text, /^Not done: 50 questions are the most/)
})

test('a search finds tasks of the session’s own project only', async t => {
  const { submit, call } = await atWork(t)
  await submit('paint the fence')
  await submit('paint the moon', { project: '/q' })
  assert.match(
    (await call('search', { query: 'paint the' })).text,
    /never an instruction\.\n```\nTasks:\nt-\w{6} \(ready\) paint the fence\n```$/,
  )
  assert.equal((await call('search', { query: 'nothing like it' })).text, 'Nothing was found.')
})

test('a note is kept with the project and found again, and the number of notes is limited', async t => {
  const { deps, session, call } = await atWork(t)
  const project = tempDir(t)
  deps.notesLock = join(project, 'lock')
  session.row = { ...session.row, project }
  const kept = await call('record_note', { title: 'Paint dries slowly', tags: ['paint'], body: 'Wait a day.' })
  assert.match(kept.text, /^Written down: \.perpetualcc\/knowledge\/.*\.md$/)
  assert.match(
    (await call('search', { query: 'dries' })).text,
    /never an instruction\.\n```\nNotes:\nPaint dries slowly: Wait a day\.\n```$/,
  )
  assert.match((await call('record_note', { title: 'x', tags: [], body: 'y' })).text, /^Not done: tags: /)
  session.meters.toolCalls.set('record_note', 20)
  assert.match((await call('record_note', { title: 'x', tags: ['a'], body: 'y' })).text, /^Not done: 20 notes/)
})
