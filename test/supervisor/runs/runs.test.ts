import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { RunTarget } from '../../../src/domain/run.ts'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { tempDir } from '../../support/world.ts'
import type { ScriptedAgent } from '../session/scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from '../session/scripted-world.ts'
import { FAILED, meeting, named } from './scripts.ts'

interface RunWorld extends ScriptedWorld {
  project: string
  /** Adds a task, with the names of the tasks that it comes after. */
  add(name: string, ...after: string[]): Promise<string>
  run(more?: object): Promise<string>
  /** Resolves with the run when it has ended. */
  over(id: string): Promise<{ outcome: string | null; reason: string | null; iterations: number }>
}

async function runWorld(t: TestContext, agent: ScriptedAgent): Promise<RunWorld> {
  const world = await scriptedWorld(t, agent)
  const project = tempDir(t, 'pcc-project-')
  const tasks = openTasks({ store: world.store, clock: { now: Date.now } })
  const ids = new Map<string, string>()
  const following = new AbortController()
  const followed = Promise.all([
    world.supervisor.runs.follow(0, following.signal),
    world.supervisor.completion.follow(0, following.signal),
  ])
  t.after(async () => {
    following.abort()
    await followed
  })
  return {
    ...world,
    project,
    async add(name, ...after) {
      const blockers = after.map(name => ids.get(name) ?? name)
      const task = await world.store.transaction(tx =>
        tasks.submit({ session_id: null, project, text: name, after: blockers }, tx),
      )
      ids.set(name, task.id)
      return task.id
    },
    async run({ target = { kind: 'project' }, ...more }: { target?: RunTarget } = {}) {
      return (await world.supervisor.runs.start({ project, target, env: {}, ...more })).id
    },
    async over(id) {
      for await (const { kind } of world.store.follow(0, { subject: id })) if (kind === 'run.ended') break
      const run = await world.store.runs.get(id)
      assert.ok(run)
      return run
    },
  }
}

test('a diamond is drained in its order, a fresh session per task, and one that fails is tried again', async t => {
  const agent = meeting({ c: [FAILED] })
  const world = await runWorld(t, agent)
  for (const [name = '', ...after] of [['a'], ['b', 'a'], ['c', 'a'], ['d', 'b', 'c']]) await world.add(name, ...after)
  const id = await world.run()
  const { outcome, iterations } = await world.over(id)
  assert.deepEqual([outcome, iterations], ['complete', 5])
  assert.deepEqual(agent.prompts.map(named), ['a', 'b', 'c', 'c', 'd'])
  assert.match(agent.prompts[3] ?? '', /It failed once\.[\s\S]*it will not/, 'the next try is told what failed')
  const attempts = await world.store.runs.attempts({ run: id })
  assert.deepEqual(
    attempts.map(({ outcome, iteration }) => [outcome, iteration]),
    [
      ['done', 1],
      ['done', 2],
      ['failed', 3],
      ['done', 4],
      ['done', 5],
    ],
  )
  assert.equal(new Set(attempts.map(({ session_id }) => session_id)).size, 5)
  const tasks = await world.store.tasks.list({ project: world.project })
  assert.deepEqual(
    [...new Set(tasks.map(({ state, verification }) => `${state} ${verification}`))],
    ['done unverified'],
  )
})

test('what fails too often fails for good with its story, and what comes after it is named as blocked', async t => {
  const agent = meeting({ a: [FAILED, FAILED, FAILED] })
  const world = await runWorld(t, agent)
  const failing = await world.add('a')
  const after = await world.add('b', 'a')
  await world.add('c')
  const run = await world.over(await world.run({ max_retries: 1 }))
  assert.deepEqual([run.outcome, run.iterations], ['failure', 3])
  assert.deepEqual(agent.prompts.map(named), ['a', 'a', 'c'], 'the rest is done all the same')
  const failed = await world.store.tasks.get(failing)
  assert.equal(failed?.state, 'failed')
  assert.match(failed?.reason ?? '', /^tried 2 times: .*it will not.*\nattempt 1/)
  const blocked = await world.store.tasks.get(after)
  assert.equal(blocked?.state, 'blocked')
  assert.match(blocked?.reason ?? '', new RegExp(failing))
})

test('an agent that gives up the whole ends the run with its reason; one that asks for a model is given it', async t => {
  const agent = meeting({
    a: [{ says: () => 'Easy.\n<next-model>opus</next-model>' }],
    b: [{ says: () => '<promise>FAILURE: there is no repository</promise>' }],
  })
  const world = await runWorld(t, agent)
  for (const name of ['a', 'b', 'c']) await world.add(name)
  const id = await world.run()
  const { outcome, reason } = await world.over(id)
  assert.deepEqual([outcome, reason], ['failure', 'there is no repository'])
  const attempts = await world.store.runs.attempts({ run: id })
  assert.deepEqual(
    attempts.map(({ model, outcome, next_model }) => [model, outcome, next_model]),
    [
      ['sonnet', 'done', 'opus'],
      ['opus', 'failed', null],
    ],
  )
  // What is left waits for a person, and says so until a newer run takes it.
  const { body } = await world.call('GET', '/needs')
  const [need, ...others] = body.needs
  assert.match(need.text, /gave up the run of the whole project: there is no repository; 2 tasks are left/)
  assert.match(need.next, /^pcc run \//)
  assert.deepEqual(others, [])
  await world.over(await world.run())
  assert.ok(!JSON.stringify((await world.call('GET', '/needs')).body.needs).includes('no repository'))
})

test('a question holds nobody up: the rest is done, and the run ends with its answer', async t => {
  const agent = meeting({ a: [{ asks: true }] })
  const world = await runWorld(t, agent)
  await world.add('a')
  await world.add('b')
  const id = await world.run()
  for await (const event of world.store.follow(0)) if (event.kind === 'task.finished') break
  const { body: open } = await world.call('GET', '/escalations')
  assert.equal((await world.store.runs.get(id))?.state, 'running')
  await world.call('POST', `/escalations/${open.escalations[0].number}/answer`, { answer: ['red'], env: {} })
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.deepEqual(agent.prompts.map(named), ['a', 'b', '(the parked call)'])
})

test('a limit, an empty target, a second run on the same tasks', async t => {
  const world = await runWorld(t, meeting({}))
  const empty = await world.over(await world.run())
  assert.equal(empty.outcome, 'no_plan')
  for (const name of ['a', 'b', 'c']) await world.add(name)
  const limited = await world.over(await world.run({ limit: 2 }))
  assert.deepEqual([limited.outcome, limited.reason], ['limit_reached', '2 attempts were made'])
})

test('a run counts its own tasks: those of sessions that failed, were stopped or went well change nothing', async t => {
  const world = await runWorld(t, meeting({}))
  const tasks = openTasks({ store: world.store, clock: { now: Date.now } })
  for (const [session_id, to] of [
    ['s-1', 'failed'],
    ['s-2', 'ready'],
    ['s-3', 'done'],
  ] as const) {
    await world.store.transaction(async tx => {
      const { id } = await tasks.submit({ session_id, project: world.project, text: 'of a session' }, tx)
      await tasks.claimNext(session_id, tx)
      await tasks.transition(id, { to }, tx)
    })
  }
  await world.add('a')
  const id = await world.run()
  const { outcome, reason } = await world.over(id)
  assert.equal(outcome, 'complete')
  assert.match(reason ?? '', /^every task is done, 1 of 1 unverified /)
  const [ended] = await world.store.events({ subject: id, kinds: ['run.ended'] })
  assert.ok(ended?.kind === 'run.ended')
  assert.deepEqual([ended.body.tasks, ended.body.unverified], [{ done: 1 }, 1])
  const plan = await world.supervisor.runs.plan({ project: world.project, target: { kind: 'project' }, env: {} })
  assert.deepEqual([plan.steps, plan.held_up], [[], []])
})

test('a run that is stopped now gives its task back; a second one meanwhile is refused with the first one named', async t => {
  const agent = meeting({})
  const world = await runWorld(t, agent)
  const task = await world.add('a')
  const held = agent.holdAt('request')
  const id = await world.run()
  const goOn = await held
  await assert.rejects(world.run(), { message: /is already working on/, next: /pcc attach r-/ })
  const pausing = world.supervisor.runs.pause(id)
  goOn()
  await pausing
  await assert.rejects(world.run(), { message: /is paused/, next: /pcc resume r-/ })
  await world.store.runs.update(id, { state: 'running', stopping: true })
  await assert.rejects(world.run(), {
    message: /was stopped, and still has/,
    next: /pcc resume r-.*pcc stop r-\w+ --now/,
  })
  await world.supervisor.runs.stop(id, 'now')
  assert.equal((await world.over(id)).outcome, 'interrupted')
  const after = await world.store.tasks.get(task)
  assert.deepEqual([after?.state, after?.session_id, after?.run_id], ['ready', null, null])
  assert.equal((await world.over(await world.run())).outcome, 'complete')
})

test("the keys of a run's brains are in no row, and reach its sessions all the same", async t => {
  const world = await runWorld(t, meeting({}))
  await world.add('a')
  const kept = { PCC_EXECUTION_MAX_RETRIES: '2', PCC_GATES_UNPROVEN: 'allow' }
  const id = await world.run({ settings: { PCC_BRAIN_GEMINI_API_KEY: 'a-secret-of-this-test', ...kept } })
  await world.over(id)
  const run = await world.store.runs.get(id)
  assert.deepEqual(run?.options.settings, kept)
  const rows = JSON.stringify([run, await world.store.sessions.list()])
  assert.ok(!rows.includes('a-secret-of-this-test'))
  const seen = world.environments.some(env => env['PCC_BRAIN_GEMINI_API_KEY'] === 'a-secret-of-this-test')
  assert.ok(seen, 'the brain was given its key')
})

for (const command of ['pause', 'stop'] as const) {
  test(`a ${command} while the next task is about to begin is the last word: it does not begin`, async t => {
    const agent = meeting({})
    const world = await runWorld(t, agent)
    const task = await world.add('a')
    const { runs } = world.supervisor
    const asked = Promise.withResolvers<void>()
    let steered: Promise<void> | undefined
    // The disk is checked after the run has decided on its next step, and before it claims a task.
    Object.defineProperty(world.disk, 'reason', {
      get: () => {
        steered ??= world.store.runs.list().then(([run]) => steer(run?.id ?? ''))
        asked.resolve()
        return undefined
      },
    })
    const steer = (id: string) => (command === 'pause' ? runs.pause(id) : runs.stop(id, 'now'))
    const id = await world.run()
    await asked.promise
    await steered
    if (command === 'stop') assert.equal((await world.over(id)).outcome, 'interrupted')
    else await runs.close() // resolves when every task that would still begin has begun
    assert.equal((await world.store.runs.get(id))?.state, command === 'stop' ? 'ended' : 'paused')
    assert.deepEqual(await world.store.runs.attempts({ run: id }), [])
    assert.deepEqual([agent.prompts, (await world.store.tasks.get(task))?.state], [[], 'ready'])
  })
}

test('an answer that arrives while its session is being stopped does not bring its agent back', async t => {
  const agent = meeting({ a: [{ asks: true }] })
  const world = await runWorld(t, agent)
  const task = await world.add('a')
  const id = await world.run()
  for await (const { kind } of world.store.follow(0)) if (kind === 'task.waiting') break
  void agent.holdAt('request')
  const { supervisor } = world
  const stop = supervisor.stop.bind(supervisor)
  let answered: Promise<{ status: number }> | undefined
  supervisor.stop = async (session, why) => {
    await stop(session, why) // the session has no process
    answered ??= world.call('POST', '/escalations/1/answer', { answer: ['red'], env: {} })
    assert.equal((await answered).status, 200)
  }
  const [asking] = await world.store.sessions.list()
  await world.call('POST', `/sessions/${asking?.id}/stop`, {})
  assert.equal((await world.over(id)).outcome, 'interrupted')
  const [session] = await world.store.sessions.list()
  assert.equal(session?.ended_as, 'stopped')
  for await (const { kind } of world.store.follow(0, { subject: task })) if (kind === 'task.readied') break
})

test('a question of a run that is stopped with --now keeps waiting, and its answer finishes the task', async t => {
  const world = await runWorld(t, meeting({ a: [{ asks: true }] }))
  const task = await world.add('a')
  const id = await world.run()
  for await (const { kind } of world.store.follow(0)) if (kind === 'task.waiting') break
  await world.supervisor.runs.stop(id, 'now')
  assert.equal((await world.over(id)).outcome, 'interrupted')
  assert.equal((await world.call('POST', '/escalations/1/answer', { answer: ['red'], env: {} })).status, 200)
  for await (const { kind } of world.store.follow(0, { subject: task })) if (kind === 'task.finished') break
})

test('a run that has ended meanwhile is not brought back by what a person says of it', async t => {
  const world = await runWorld(t, meeting({}))
  await world.add('a')
  const id = await world.run()
  await world.over(id)
  const { runs } = world.supervisor
  for (const late of [() => runs.stop(id, 'now'), () => runs.pause(id), () => runs.resume(id)]) {
    await assert.rejects(late, { code: 'run_over' })
    assert.equal((await world.store.runs.get(id))?.state, 'ended')
  }
  const ends = (await world.events(id)).filter(({ kind }) => kind === 'run.ended')
  assert.equal(ends.length, 1)
})
