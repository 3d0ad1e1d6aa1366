import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type RunWorld, runWorld } from '../../daemon/runs/run-world.ts'
import { gitProject } from '../../support/world.ts'
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
    assert.match(
      held.reason ?? '',
      new RegExp(`^${first} is tried again at .*Z: .*got no worktree .*${first}\\.lock.*File exists`),
    )
    rmSync(lock)
    world.pass(60_000)
    world.supervisor.runs.look(id)
    const over = await world.over(id)
    assert.deepEqual([over.outcome, over.tasks], ['complete', { done: 3 }])
    assert.deepEqual(over.attempts.map(({ task_id, number }) => [task_id, number]).at(-1), [first, 1])
  })
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
