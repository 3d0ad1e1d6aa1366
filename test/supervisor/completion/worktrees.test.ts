import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readWorktreeDeps } from '../../../src/daemon/context.ts'
import { recoverWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { commitAll } from '../../support/world.ts'
import { add, landWorld, write, writer } from './completion-world.ts'

test('a task of a run works in a worktree, is verified there, and lands on the branch of the project', async t => {
  const agent = writer({ 'make a.txt': cwd => write(cwd, 'a.txt', 'a\n') })
  const world = await landWorld(t, agent)
  world.settings['PCC_GATES_TEST'] = 'test -f a.txt'
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  assert.equal((await world.over(id)).outcome, 'complete')
  const { state, verification } = await world.task(task)
  assert.deepEqual([state, verification], ['done', 'passed'])
  assert.equal(world.git('show', 'main:a.txt'), 'a')
  assert.ok(existsSync(join(world.project, 'a.txt')), 'the checkout follows its branch')
  await world.tidy()
  assert.equal(world.git('branch', '--list', 'pcc/*'), '', 'the branch is deleted once it is merged')
  const { body } = await world.call('GET', `/tasks/${task}/diff`)
  assert.equal(body.source, 'merged')
  assert.match(body.diff, /\+a/)
  const work = await world.call('GET', `/tasks/${task}/work`)
  assert.ok(
    work.body.evidence.some((row: { gate: string; status: string }) => row.gate === 'test' && row.status === 'passed'),
  )
})

test('two tasks that conflict both land, the second through its own conversation', async t => {
  let theirs = 0
  const agent = writer({
    'stands still': cwd => {
      theirs += 1
      const report = write(cwd, 'list.txt', 'one\nfirst\nsecond\n')
      add(cwd, 'list.txt')
      return report
    },
    'add first': cwd => write(cwd, 'list.txt', 'one\nfirst\n'),
    'add second': cwd => write(cwd, 'list.txt', 'one\nsecond\n'),
  })
  const world = await landWorld(t, agent, { 'list.txt': 'one\n' })
  world.settings['PCC_GATES_TEST'] = 'grep -q one list.txt && ! grep -q "<<<<" list.txt'
  const tasks = [await world.add('add first'), await world.add('add second')]
  const { id } = await world.run({ parallel: 2 })
  const { outcome, attempts } = await world.over(id)
  assert.equal(outcome, 'complete')
  assert.equal(attempts.length, 2, 'each in one attempt')
  assert.equal(theirs, 1, 'one of them got the conflict')
  assert.equal(world.git('show', 'main:list.txt'), 'one\nfirst\nsecond')
  for (const task of tasks) assert.equal((await world.task(task)).state, 'done')
  await world.tidy()
  assert.equal(world.git('branch', '--list', 'pcc/*'), '')
})

test('a conflict that its agent gives up on waits for a person, and tasks that do not need it begin at once', async t => {
  const agent = writer({
    'stands still': () => 'I leave it to you.',
    'add other': cwd => write(cwd, 'other.txt', 'x\n'),
    'add mine': cwd => {
      write(world.project, 'list.txt', 'one\nby the person\n')
      commitAll(world.project, 'the same line')
      return write(cwd, 'list.txt', 'one\nmine\n')
    },
  })
  const world = await landWorld(t, agent, { 'list.txt': 'one\n' })
  world.settings['PCC_GATES_TEST'] = 'true'
  const stuck = await world.add('add mine', { priority: 1 })
  const other = await world.add('add other')
  const { id } = await world.run()
  await world.since(id, ({ kind, subject }) => kind === 'merge.landed' && subject === other)
  assert.equal((await world.task(stuck)).state, 'verifying')
  const [row, ...more] = await world.store.escalations.list({ states: ['open'] })
  assert.match(row?.reason ?? '', /conflicts with main/)
  assert.equal(more.length, 0, 'one row')
})

test('a task that changed nothing is done on its agent’s word alone, and is not called merged', async t => {
  const world = await landWorld(t, writer({ 'do nothing': () => 'It was all there already.' }))
  world.settings['PCC_GATES_TEST'] = 'true'
  const task = await world.add('do nothing')
  const { id } = await world.run()
  const { outcome, merged, unmerged } = await world.over(id)
  assert.deepEqual([outcome, merged, unmerged], ['complete', 0, 0])
  const { state, verification, reason } = await world.task(task)
  assert.deepEqual(
    [state, verification, reason],
    ['done', 'unverified', 'it changed nothing, so there was nothing to merge'],
  )
  await world.tidy()
  const { body } = await world.call('GET', `/tasks/${task}/diff`)
  assert.deepEqual([body.files, body.diff], [[], ''])
})

test('of two tasks that landed one after the other, diff and report tell of each only what is its own', async t => {
  const agent = writer({
    'make a.txt': cwd => write(cwd, 'a.txt', 'a\n'),
    'make b.txt': cwd => write(cwd, 'b.txt', 'b\n'),
  })
  const world = await landWorld(t, agent)
  const tasks = { 'a.txt': await world.add('make a.txt'), 'b.txt': await world.add('make b.txt') }
  const { id } = await world.run({ parallel: 2 })
  assert.equal((await world.over(id)).outcome, 'complete')
  await world.tidy()
  const report = await world.call('GET', '/report?since=1h&zone=UTC')
  for (const [file, task] of Object.entries(tasks)) {
    const { body } = await world.call('GET', `/tasks/${task}/diff`)
    assert.deepEqual(body.files, [{ path: file, added: 1, removed: 0 }])
    const told = report.body.done.find((one: { id: string }) => one.id === task)
    assert.deepEqual(
      told.commits.map(({ subject }: { subject: string }) => subject),
      [`make ${file}`],
    )
  }
})

test('work that is not to be verified lands on a target that has moved meanwhile, without a gate', async t => {
  const agent = writer({
    'make a.txt': cwd => {
      write(world.project, 'other.txt', 'by hand\n')
      world.git('add', 'other.txt')
      world.git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.invalid', 'commit', '-qm', 'by hand')
      return write(cwd, 'a.txt', 'a\n')
    },
  })
  const world = await landWorld(t, agent)
  world.settings['PCC_GATES_TEST'] = 'exit 1'
  const task = await world.add('make a.txt')
  const { id } = await world.run({ verify: false })
  assert.equal((await world.over(id)).outcome, 'complete')
  const { state, verification } = await world.task(task)
  assert.deepEqual([state, verification], ['done', 'unverified'])
  assert.equal(world.git('show', 'main:a.txt'), 'a')
  assert.equal(world.git('show', 'main:other.txt'), 'by hand')
  await world.tidy()
})

for (const isArchived of [false, true])
  test(`work whose worktree somebody deleted${isArchived ? ', and that a daemon archived,' : ''} waits with the command that restores it, and a yes goes on`, async t => {
    let turns = 0
    const agent = writer({
      'a.txt': cwd => {
        turns += 1
        if (turns > 1) return write(cwd, 'a.txt', 'a\n')
        rmSync(cwd, { recursive: true })
        return 'Wrote a.txt.'
      },
    })
    const world = await landWorld(t, agent)
    world.settings['PCC_GATES_TEST'] = 'test -f a.txt'
    const task = await world.add('make a.txt')
    const { id } = await world.run()
    await world.since(
      id,
      ({ kind, body }) => kind === 'session.noted' && 'text' in body && body.text.startsWith('A person has to look'),
    )
    const waiting = async () => (await world.call('GET', '/needs')).body.needs
    const [need] = await waiting()
    assert.match(
      need.text,
      /slot-1 is gone\. Restore its worktree with: pcc worktree restore .*, then say yes: pcc respond 1 --approve$/,
    )
    assert.equal(need.next, `pcc worktree restore ${task}`)
    // A daemon that starts finds it gone.
    if (isArchived) await recoverWorktrees(await readWorktreeDeps({ ...world.daemon, env: world.daemon.agentEnv }))
    const { status, body } = await world.call('POST', `/worktrees/${task}/restore`, {})
    assert.equal(status, 200, JSON.stringify(body))
    const [again] = await waiting()
    assert.equal(again.next, 'pcc respond 1 --approve')
    await world.call('POST', '/escalations/1/answer', { verdict: 'allow' })
    assert.equal((await world.over(id)).outcome, 'complete')
    assert.equal(world.git('show', 'main:a.txt'), 'a')
    await world.tidy()
  })
