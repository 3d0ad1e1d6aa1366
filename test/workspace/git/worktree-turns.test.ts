import assert from 'node:assert/strict'
import { existsSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { git, isRepositoryBusy, lockWorktrees, retryWhileBusy } from '../../../src/workspace/git/git.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { gitWithHiccup } from './hiccup.ts'

const THOUSAND = 1000
/** Enough calls to run into each other; more would only wait. */
const SIDE_BY_SIDE = 4
/** How many worktrees are removed before one prune. Pruning after each costs half as much again, without more collisions. */
const FORGOTTEN_AT_ONCE = 4

test('a thousand worktrees of one repository are made and removed side by side, and none of them fails', async t => {
  const [project, home] = [gitProject(t), tempDir(t)]
  const commit = (await git(project, ['rev-parse', 'HEAD'])).stdout.trim()
  const failures: string[] = []
  const call = async (...args: string[]) => {
    const { ok, stderr } = await git(project, ['worktree', ...args])
    if (!ok) failures.push(stderr)
  }
  let made = 0
  const work = async () => {
    while (made < THOUSAND) {
      made += 1
      const [isLast, top] = [made % FORGOTTEN_AT_ONCE === 0, join(home, `w-${made}`)]
      // Without branch and files the collisions are the same, at half the cost.
      await call('add', '-q', '--detach', '--no-checkout', top, commit)
      rmSync(top, { recursive: true, force: true })
      if (isLast) await call('prune')
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
  await call('prune')
  assert.deepEqual(failures, [])
  assert.ok(!existsSync(join(project, '.git', 'worktrees')), 'nothing of them is left')
})

for (const what of ['add', 'remove', 'prune']) {
  test(`git worktree ${what} waits for its turn`, async t => {
    const [project, home] = [realpathSync(gitProject(t)), tempDir(t)]
    const top = join(home, 'there')
    await git(project, ['worktree', 'add', '-q', '--detach', top, 'HEAD'])
    if (what === 'prune') rmSync(top, { recursive: true })
    const before = listed(project)
    const turn = await lockWorktrees(join(project, '.git'))
    const end = what === 'add' ? ['--detach', join(home, 'new')] : what === 'remove' ? [top] : []
    const changing = git(top === end[0] ? top : project, ['worktree', what, ...end])
    // Enough time for a call that does not wait.
    for (let asked = 0; asked < 10; asked += 1) await git(project, ['status'])
    assert.deepEqual(listed(project), before)
    turn?.[Symbol.dispose]()
    assert.ok((await changing).ok)
    assert.deepEqual(listed(project), what === 'add' ? ['new', 'there'] : [])
  })
}

function listed(project: string): string[] {
  const folder = join(project, '.git', 'worktrees')
  return existsSync(folder) ? readdirSync(folder).sort() : []
}

test('whoever adds or removes a worktree waits for its turn in that repository, and gives it up when it is called off', async () => {
  const first = await lockWorktrees('/one')
  const order: string[] = []
  const calledOff = new AbortController()
  const second = lockWorktrees('/one', calledOff.signal).then(turn => order.push(turn ? 'second' : 'called off'))
  const third = lockWorktrees('/one').then(turn => {
    order.push('third')
    return turn
  })
  using _other = await lockWorktrees('/two')
  order.push('another repository')
  calledOff.abort()
  await second
  order.push('first leaves')
  first?.[Symbol.dispose]()
  const turn = await third
  assert.deepEqual(order, ['another repository', 'called off', 'first leaves', 'third'])
  turn?.[Symbol.dispose]()
  assert.equal(await lockWorktrees('/one', AbortSignal.abort()), undefined)
})

test('what fails because another git holds a lock in that moment is tried again, and what it left is taken back first', async t => {
  const project = gitProject(t)
  const lock = join(project, '.git', 'refs', 'heads', 'work.lock')
  writeFileSync(lock, '')
  const top = join(tempDir(t), 'w')
  let undone = 0
  const added = await retryWhileBusy(() => git(project, ['worktree', 'add', '-q', '-b', 'work', top, 'HEAD']), {
    undo: async () => {
      undone += 1
      rmSync(lock)
    },
  })
  assert.deepEqual([added.ok, undone], [true, 1])
})

for (const call of ['worktree list', 'worktree remove', 'worktree prune', 'for-each-ref', 'branch -q -D']) {
  test(`git ${call} is called again where it met a worktree that another git was just adding`, async t => {
    const project = gitProject(t)
    const top = join(tempDir(t), 'w')
    await git(project, ['worktree', 'add', '-q', '--detach', top, 'HEAD'])
    await git(project, ['branch', 'work'])
    gitWithHiccup(t, { call, says: 'fatal: failed to read .git/worktrees/other/commondir: Success' })
    const end = call === 'worktree remove' ? [top] : call.startsWith('branch') ? ['work'] : []
    const { ok, stderr } = await git(project, [...call.split(' '), ...end])
    assert.ok(ok, stderr)
  })
}

test('words of git that tell of another one in the same moment are known, and a true fault is none of them', () => {
  const others = [
    "fatal: could not create directory of '.git/worktrees/t-1a2b3c': No such file or directory",
    'fatal: failed to read .git/worktrees/t-1a2b3c/commondir: Success',
    "fatal: Unable to create '/p/.git/index.lock': File exists.",
    "fatal: cannot lock ref 'refs/heads/pcc/t-1': Unable to create '/p/.git/refs/heads/pcc/t-1.lock': No such file or directory",
    'error: could not lock config file .git/config: File exists',
  ]
  const faults = [
    "fatal: cannot lock ref 'refs/heads/pcc/t-1': 'refs/heads/pcc' exists; cannot create 'refs/heads/pcc/t-1'",
    "fatal: could not create directory of '.git/worktrees/t-1': Permission denied",
    "fatal: 'pcc/t-1' is already checked out at '/elsewhere'",
    'fatal: invalid reference: main',
  ]
  assert.deepEqual([others.filter(each => !isRepositoryBusy(each)), faults.filter(isRepositoryBusy)], [[], []])
})
