import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { mayChangeNeeds } from '../../../src/human/notify/need-notices.ts'
import { listNeeds } from '../../../src/supervisor/report/needs.ts'
import { HeldBackTasks } from '../../../src/supervisor/runs/begin-next.ts'
import { type RunWorld, runWorld } from '../../daemon/runs/run-world.ts'
import { bareEnv, gitProject } from '../../support/world.ts'
import { meeting } from './scripts.ts'

/** The lock that git leaves behind when it dies while it creates the task's branch. */
function lockOf({ project }: RunWorld, task: string): string {
  return join(project, '.git', 'refs', 'heads', 'pcc', `${task}.lock`)
}

for (const parallel of [1, 2]) {
  test(`a task that gets no worktree while another git is in the way ends no run, and those behind it begin (${parallel} at once)`, async t => {
    const world = await runWorld(t, meeting({}), gitProject(t))
    const [first, second, third] = [await world.add('a'), await world.add('b'), await world.add('c')]
    const lock = lockOf(world, first)
    mkdirSync(dirname(lock), { recursive: true })
    writeFileSync(lock, '')
    const { id } = await world.run({ parallel, verify: false })
    for (const task of [second, third]) await finished(world, { id, task })
    const held = await heldBack(world, id)
    assert.deepEqual([held.state, held.tasks], ['running', { done: 2, ready: 1 }])
    assert.deepEqual(await waiting(world), [], 'another git ends by itself')
    assert.match(
      held.reason ?? '',
      new RegExp(
        `^Task ${first} got no worktree .*${first}\\.lock.*File exists.* It is tried again every few seconds\\.$`,
      ),
    )
    rmSync(lock)
    world.pass(10_000)
    world.supervisor.runs.look(id)
    const over = await world.over(id)
    assert.deepEqual([over.outcome, over.tasks], ['complete', { done: 3 }])
    assert.deepEqual(over.attempts.map(({ task_id, number }) => [task_id, number]).at(-1), [first, 1])
  })
}

test('a branch that is gone fails no task: the run waits with the remedy, and goes on by itself when it is back', async t => {
  const project = gitProject(t)
  const world = await runWorld(t, meeting({}), project)
  for (const title of ['a', 'b']) await world.add(title)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(project), stdio: 'pipe' })
  git('checkout', '-q', '--detach')
  const plan = await world.supervisor.runs.plan({ project, target: { kind: 'project' }, env: {} })
  assert.equal(plan.in_place, null, 'nothing would be done in the project itself')
  const { id } = await world.run({ verify: false })
  const held = await heldBack(world, id)
  assert.deepEqual([held.state, held.tasks, held.attempts], ['running', { ready: 2 }, []])
  assert.match(held.reason ?? '', /detached HEAD.*git switch BRANCH/)
  await world.since(id, ({ kind }) => kind === 'run.held_up')
  const [row, ...others] = await waiting(world)
  assert.match(row ?? '', /^Tasks cannot begin: no branch is checked out there .*: Check a branch out with: git switch/)
  assert.deepEqual(others, [], 'two tasks wait for the same')
  await world.supervisor.runs.pause(id)
  const paused = await world.detail(id)
  assert.deepEqual([paused.state, paused.reason], ['paused', null], 'what a person has paused waits for nothing')
  await world.supervisor.runs.resume(id)
  git('switch', '-q', 'main')
  world.pass(10_000)
  world.supervisor.runs.look(id)
  assert.equal((await world.over(id)).outcome, 'complete')
  const events = await world.store.events({ kinds: ['run.held_up'] })
  assert.deepEqual(
    events.map(({ body }) => 'by' in body && body.by.length),
    [1, 0],
    'it is told once, and that it is over',
  )
  assert.ok(events.every(mayChangeNeeds), 'people are notified')
})

test('however long tasks were held back, one try within ten seconds tells whether the cause is gone, for all of them', () => {
  let now = 1_000_000
  const held = new HeldBackTasks({ now: () => now })
  const refuse = (task: string, why: string) =>
    held.hold('r-1', task, new AppError('place_refused', { task, project: '/p', why, remedy: 'Mend it.' }))
  for (const task of ['t-1', 't-2']) refuse(task, 'detached HEAD')
  refuse('t-3', 'a branch in the way')
  for (let tries = 0; tries < 10; tries++) {
    now = held.next('r-1')?.notBefore ?? Number.NaN
    assert.deepEqual([...held.skippedIn('r-1')], [])
    const why = refuse('t-1', 'detached HEAD')
    assert.deepEqual([...held.skippedIn('r-1')], ['t-1', 't-2'], 'the other one is not tried as well')
    const next = held.next('r-1')
    assert.ok(next && next.notBefore > now && next.notBefore <= now + 10_000)
    assert.equal(next.why, why, 'what is said does not change with every try')
    assert.doesNotMatch(next.why, /\d\dT\d\d/)
  }
  held.free('t-1')
  assert.deepEqual(
    held.stuckIn('r-1').map(({ task }) => task),
    ['t-3'],
  )
})

test('a full disk is one row while it keeps tasks from beginning, and none when there is space', async t => {
  const world = await runWorld(t, meeting({}))
  await world.add('a')
  world.disk.reason = 'only 3 MB are free'
  const { id } = await world.run()
  await world.since(id, ({ kind }) => kind === 'run.held_up')
  const [row, ...others] = await waiting(world)
  assert.match(row ?? '', /^Tasks cannot begin: only 3 MB are free: Free some space/)
  assert.deepEqual(others, [])
  world.disk.reason = undefined
  await world.store.append([{ actor: 'daemon', subject: 'daemon', kind: 'disk.freed', body: {} }])
  assert.deepEqual([(await world.over(id)).outcome, await waiting(world)], ['complete', []])
})

/** What waits for a person, with what to do about it. */
async function waiting({ store }: RunWorld): Promise<string[]> {
  return (await listNeeds({ store })).needs.map(({ text, next }) => `${text}: ${next}`)
}

/** Resolves when a task is done, or its run has ended without it. */
async function finished(world: RunWorld, { id, task }: { id: string; task: string }): Promise<void> {
  await world.since(id, ({ kind, subject, body }) => {
    const isDone = kind === 'task.finished' && 'task_id' in body && body.task_id === task
    return isDone || (kind === 'run.ended' && subject === id)
  })
}

/** Resolves with the run when none of its tasks is at work and its reason says why. */
async function heldBack(world: RunWorld, id: string) {
  for (;;) {
    const detail = await world.detail(id)
    const isIdle = detail.attempts.every(({ outcome }) => outcome !== null)
    if (detail.state === 'ended' || (isIdle && detail.reason !== null)) return detail
    await new Promise(resolve => setImmediate(resolve))
  }
}
