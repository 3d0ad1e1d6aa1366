import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stoppedInRun } from '../../../src/cli/commands/run/control.ts'
import { projectFolderName } from '../../../src/workspace/worktrees/worktree.ts'
import { named } from '../../supervisor/runs/scripts.ts'
import { scriptedAgent, type Turn } from '../../supervisor/session/scripted-agent.ts'
import { makeRepository } from '../../support/world.ts'
import { runWorld } from './run-world.ts'

// Several tasks of a run at once, with an agent that follows a script.

/** What each task's turn waits for, by a word of its title. */
function gates(words: string[]) {
  const opened = new Map(words.map(word => [word, Promise.withResolvers<void>()]))
  const begun = new Map(words.map(word => [word, Promise.withResolvers<void>()]))
  return {
    /** Resolves when the task is at work. */
    begun: (word: string) => begun.get(word)?.promise,
    open: (word: string) => opened.get(word)?.resolve(),
    turn: (prompt: string): Turn => {
      const word = named(prompt)
      if (!words.includes(word)) return {}
      begun.get(word)?.resolve()
      return { until: opened.get(word)?.promise }
    },
  }
}

async function world(t: TestContext, words: string[], { git = true } = {}) {
  const gate = gates(words)
  const agent = scriptedAgent(gate.turn)
  const made = await runWorld(t, agent)
  if (git) makeRepository(made.project)
  const titles = async (id: string) => {
    const { attempts } = await made.detail(id)
    return attempts.filter(({ outcome }) => outcome === null).map(({ title }) => title)
  }
  /** The run, once it says why no task starts. */
  const heldUp = async (id: string) => {
    for (;;) {
      const now = await made.detail(id)
      if (now.reason !== null) return now
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
  return { ...made, ...gate, agent, titles, heldUp }
}

test('tasks that would touch the same files are kept apart, another goes before them, and the run says why one waits', async t => {
  const { add, run, begun, open, titles, detail, over } = await world(t, ['users', 'posts', 'docs'])
  const users = await add('users', { paths: ['src/api/**'] })
  const posts = await add('posts', { paths: ['src/api/posts.ts'] })
  await add('docs', { paths: ['docs'] })
  const { id } = await run({ parallel: 2 })
  await Promise.all([begun('users'), begun('docs')])
  assert.deepEqual(await titles(id), ['users', 'docs'])
  const { kept_apart } = await detail(id)
  const why = `${posts} (posts) is kept apart from ${users}, which is at work, because both will probably change src/api/posts.ts`
  assert.deepEqual(kept_apart, [{ id: posts, title: 'posts', beside: users, path: 'src/api/posts.ts', why }])
  open('docs')
  open('users')
  await begun('posts')
  assert.deepEqual((await detail(id)).kept_apart, [])
  open('posts')
  assert.equal((await over(id)).outcome, 'complete')
})

test('where all that is ready would touch what is at work nothing begins, and the reason stands on the run', async t => {
  const { add, run, begun, open, titles, over, heldUp } = await world(t, ['users', 'posts'])
  const users = await add('users', { paths: ['src'] })
  await add('posts', { paths: ['src/api/posts.ts'] })
  const { id } = await run({ parallel: 4 })
  await begun('users')
  const { reason } = await heldUp(id)
  assert.deepEqual(await titles(id), ['users'])
  assert.match(reason ?? '', new RegExp(`kept apart from ${users}, .* src/api/posts.ts`))
  open('users')
  await begun('posts')
  open('posts')
  const ended = await over(id)
  assert.deepEqual([ended.outcome, ended.iterations], ['complete', 2])
})

test('without git several at once are done one at a time, and the run says why', async t => {
  const { add, run, begun, open, titles, over, events, heldUp } = await world(t, ['one', 'two'], { git: false })
  await add('one')
  await add('two')
  const { id } = await run({ parallel: 2 })
  await begun('one')
  assert.deepEqual(await titles(id), ['one'])
  const { reason, attempts } = await heldUp(id)
  assert.match(reason ?? '', /one task at a time works in the project itself: it is in no git repository/)
  assert.equal(attempts[0]?.place, null)
  const noted = (await events(attempts[0]?.session_id ?? '')).flatMap(event =>
    event.kind === 'session.noted' ? [event.body.text] : [],
  )
  assert.match(noted.join('\n'), /Works in the project itself.* What it held before lies in .*snapshots/)
  open('one')
  await begun('two')
  open('two')
  assert.equal((await over(id)).outcome, 'complete')
})

for (const parallel of [1, 2])
  test(`a person who stops one of ${parallel} sessions at work is told whether its run is over, and how to go on`, async t => {
    const { add, run, begun, open, detail, over, call, project } = await world(t, ['users', 'posts'])
    for (const name of ['users', 'posts', 'docs']) await add(name)
    const { id } = await run({ parallel })
    await Promise.all(parallel === 1 ? [begun('users')] : [begun('users'), begun('posts')])
    const { attempts } = await detail(id)
    const session = attempts[0]?.session_id ?? ''
    assert.equal((await call('POST', `/sessions/${session}/stop`, {})).status, 200)
    const told = stoppedInRun(session, await detail(id))
    const command = /: (pcc r[^ ]+ [^ ]+?)\.?( |$)/.exec(told)?.[1]
    if (parallel === 1) {
      assert.match(told, /^Its run ends with it/)
      assert.equal(command, `pcc run ${project}`)
      assert.equal((await over(id)).outcome, 'interrupted')
      assert.equal(stoppedInRun(session, await detail(id)), told)
    } else {
      assert.match(told, /^Its run begins no other task/)
      assert.equal(command, `pcc resume ${id}`)
      assert.equal((await call('POST', `/runs/${id}/resume`, {})).status, 200)
      for (const name of ['users', 'posts']) open(name)
      await over(id)
    }
  })

test('a run that is stopped now stops all that it has at work, and gives it back', async t => {
  const { add, run, begun, open, titles, detail, over, call, agent } = await world(t, ['one', 'two', 'three'])
  for (const title of ['one', 'two', 'three']) await add(title)
  const first = await run({ parallel: 2 })
  await Promise.all([begun('one'), begun('two')])
  assert.equal(agent.open(), 2)
  await call('POST', `/runs/${first.id}/stop`, { now: true })
  const stopped = await over(first.id)
  assert.deepEqual([stopped.outcome, stopped.tasks], ['interrupted', { ready: 3 }])
  assert.equal(agent.open(), 0)
  for (const word of ['one', 'two', 'three']) open(word)
  const second = await run({ parallel: 3 })
  const ended = await over(second.id)
  assert.deepEqual([ended.outcome, ended.tasks], ['complete', { done: 3 }])
  assert.deepEqual([(await titles(second.id)).length, (await detail(second.id)).parallel], [0, 3])
})

test('two runs of one project, each of its own feature, are at work at once, and sessions.max_concurrent bounds both', async t => {
  const { add, run, begun, open, over, agent, detail, since } = await world(t, ['cook', 'wash', 'sweep'])
  await add('cook', { feature: 'kitchen' })
  await add('wash', { feature: 'kitchen' })
  await add('sweep', { feature: 'hall' })
  const settings = { PCC_SESSIONS_MAX_CONCURRENT: '2' }
  const kitchen = await run({ target: { kind: 'feature', name: 'kitchen' }, parallel: 2, settings })
  await Promise.all([begun('cook'), begun('wash')])
  const hall = await run({ target: { kind: 'feature', name: 'hall' }, parallel: 2, settings })
  await since(hall.id, ({ kind, body }) => kind === 'session.noted' && body.text.startsWith('Waits for a free slot'))
  assert.equal(agent.open(), 2)
  assert.equal((await detail(hall.id)).attempts[0]?.now?.status, 'idle', 'it waits for a free slot')
  for (const word of ['cook', 'wash', 'sweep']) open(word)
  assert.deepEqual([(await over(kitchen.id)).outcome, (await over(hall.id)).outcome], ['complete', 'complete'])
})

test('a run that is paused pauses all that it has at work, and goes on with all of it in the same conversations', async t => {
  const { add, run, begun, open, over, call, agent, detail, ended } = await world(t, ['one', 'two'])
  await add('one')
  await add('two')
  const { id } = await run({ parallel: 2 })
  await Promise.all([begun('one'), begun('two')])
  await call('POST', `/runs/${id}/pause`, {})
  for (const word of ['one', 'two']) open(word)
  const { attempts } = await detail(id)
  await Promise.all(attempts.map(({ session_id }) => ended(session_id, 1)))
  assert.deepEqual(
    (await detail(id)).attempts.map(({ now }) => now?.status),
    ['paused', 'paused'],
  )
  assert.equal(agent.open(), 0)
  await call('POST', `/runs/${id}/resume`, {})
  const after = await over(id)
  assert.deepEqual([after.outcome, after.iterations], ['complete', 2])
})

for (const how of ['stopped', 'paused'])
  test(`a run that copies a project without git says so, and begins nothing when it is ${how} meanwhile`, async t => {
    const { project, supervisor, daemon, add, run, detail, heldUp, over } = await world(t, [], { git: false })
    const many = join(project, 'many')
    mkdirSync(many)
    for (let file = 0; file < 4000; file += 1) writeFileSync(join(many, `${file}.txt`), 'text')
    await add('docs')
    const { id } = await run()
    const { reason } = await heldUp(id)
    assert.equal(
      reason,
      'the project is copied before a task begins, because it is in no git repository (4000 files, 1 MB)',
    )
    await (how === 'stopped' ? supervisor.runs.stop(id, 'now') : supervisor.runs.pause(id))
    assert.deepEqual((await detail(id)).attempts, [])
    const copies = join(daemon.paths.home, 'worktrees/snapshots', projectFolderName(project))
    assert.deepEqual(readdirSync(copies), [], 'no copy is left, not even half a one')
    if (how === 'stopped') return
    rmSync(many, { recursive: true })
    await supervisor.runs.resume(id)
    assert.equal((await over(id)).outcome, 'complete')
  })

test('a task that a run begins while the account is closed waits for the limit in every list, and goes on after it', async t => {
  const resetsAt = Date.now() + 3_600_000
  let isClosed = true
  const limit = { source: 'result', message: 'full', resetsAt } as const
  const agent = scriptedAgent(() => (isClosed ? { failure: { kind: 'limit', message: 'full', limit } } : {}))
  const { project, add, run, since, over, store, pass } = await runWorld(t, agent)
  makeRepository(project)
  await add('full')
  const { id } = await run({ parallel: 2 })
  const limited = (sessions: number) => {
    let ended = 0
    return since(id, ({ kind, body }) => {
      if (kind === 'session.ended' && 'status' in body && body.status === 'rate_limited') ended += 1
      return ended === sessions
    })
  }
  await limited(1)
  const late = await add('late')
  await limited(2)
  const task = await store.tasks.get(late)
  assert.deepEqual([task?.state, task?.reason], ['waiting', 'full'])
  assert.ok((task?.wakes_at ?? 0) >= resetsAt - 1_000)
  isClosed = false
  pass(3_700_000)
  assert.equal((await over(id)).tasks.done, 2)
  assert.equal((await store.tasks.get(late))?.attempt, 1)
})
