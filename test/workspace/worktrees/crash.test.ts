import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { silentLog } from '../../../src/base/log.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import { PRESENT_WORKTREES, type Worktree, type WorktreeRow } from '../../../src/domain/worktree.ts'
import { openStore } from '../../../src/store/open.ts'
import { makeWorktree, type NewWorktreeRequest } from '../../../src/workspace/worktrees/make-worktree.ts'
import { removeWorktree } from '../../../src/workspace/worktrees/remove-worktree.ts'
import { keepSlot } from '../../../src/workspace/worktrees/slots.ts'
import { recoverWorktrees } from '../../../src/workspace/worktrees/worktrees.ts'
import { bareEnv, COMPILED, gitProject, tempDir } from '../../support/world.ts'
import { insertRun, plainGit, write } from './worktree-fixture.ts'

const CHILD = fileURLToPath(new URL('children/do-until-killed.ts', import.meta.url))

/** The content of a worktree whose removal is interrupted. */
const HOLDS: Record<string, (top: string, project: string) => void> = {
  nothing: () => undefined,
  'merged work': (top, project) => {
    work(top)
    plainGit(project, project, ['merge', '-q', '--ff-only', 'pcc/t-000001'])
  },
  'commits of its own': top => work(top),
  'files that nobody committed': top => {
    work(top)
    write(top, { 'untracked.txt': 'u\n', 'README.md': 'changed\n' })
  },
}

function work(top: string): void {
  write(top, { 'work.txt': 'w\n' })
  plainGit(top, top, ['add', '-A'])
  plainGit(top, top, ['commit', '-qm', 'work'])
}

for (const point of ['place.before-add', 'place.after-add']) {
  test(`killed at ${point}, the next start leaves nothing half made, and the attempt gets its place`, async t => {
    const world = await killedWorld(t)
    await world.dieAt(point, 'make')
    const [before] = await world.rows()
    assert.equal(before?.state, 'making')
    await world.recover()
    assert.deepEqual(await world.states(), ['removed'])
    assert.equal(existsSync(before?.top ?? ''), false)
    assert.deepEqual([world.git('branch', '--list', 'pcc/*'), world.worktrees()], ['', 1])
    assert.equal((await world.make()).branch, 'pcc/t-000001')
  })

  test(`killed at ${point}, the attempt gets its place although nobody recovered anything`, async t => {
    const world = await killedWorld(t)
    await world.dieAt(point, 'make')
    const worktree = await world.make()
    assert.ok(existsSync(join(worktree.top, 'README.md')))
    assert.deepEqual([world.worktrees(), await world.states()], [2, ['live']])
  })
}

for (const point of ['place.before-archive', 'place.before-remove', 'place.after-remove']) {
  for (const [what, fill] of Object.entries(HOLDS)) {
    test(`killed at ${point} with ${what} in it, everything is reachable and the next removal ends it`, async t => {
      const world = await killedWorld(t)
      const worktree = await world.make()
      fill(worktree.top, world.project)
      await world.dieAt(point, 'remove')
      await world.recover()
      await world.removeAll()
      const isKept = what === 'commits of its own' || what === 'files that nobody committed'
      assert.deepEqual(await world.states(), [isKept ? 'archived' : 'removed'])
      assert.deepEqual(
        [existsSync(worktree.top), world.git('branch', '--list', 'pcc/*'), world.worktrees()],
        [false, '', 1],
      )
      if (!isKept) return
      const [row] = await world.rows()
      const files = world
        .git('ls-tree', '--name-only', row?.archive ?? '')
        .trim()
        .split('\n')
      assert.ok(files.includes('work.txt'))
      assert.equal(files.includes('untracked.txt'), what.startsWith('files'))
    })
  }
}

for (const point of ['place.before-archive', 'slot.after-take', 'slot.before-switch', 'slot.after-switch']) {
  test(`killed at ${point} while a slot changes its branch, nothing is lost and the next attempt gets a place`, async t => {
    const world = await killedWorld(t)
    await world.openRun()
    const first = await world.make({ slot: true })
    work(first.top)
    write(first.top, { 'untracked.txt': 'u\n' })
    await world.keep(first)
    await world.dieAt(point, 'next')
    const owners = (await world.rows()).filter(({ state }) => PRESENT.has(state))
    assert.deepEqual(
      owners.map(({ task, state }) => [task, state]),
      [point.startsWith('place') ? ['t-000001', 'leaving'] : ['t-000002', 'making']],
      'one row has the slot',
    )
    await world.recover()
    const second = await world.make({ slot: true, task: 't-000002' })
    assert.deepEqual([second.top, world.worktrees()], [first.top, 2])
    assert.equal(world.gitIn(second.top, 'status', '--porcelain', '--untracked-files=all'), '')
    assert.equal(world.git('branch', '--list', 'pcc/*').trim(), '+ pcc/t-000002')
    const archive = (await world.rows()).find(({ task }) => task === 't-000001')?.archive ?? ''
    const kept = world.git('ls-tree', '--name-only', archive).trim().split('\n')
    assert.deepEqual(kept, ['README.md', 'untracked.txt', 'work.txt'])
  })
}

const PRESENT: ReadonlySet<string> = new Set(PRESENT_WORKTREES)

/** A project, a store, and a process that dies at a crash point. */
async function killedWorld(t: TestContext) {
  const project = gitProject(t)
  const home = tempDir(t)
  const [file, root] = [join(home, 'store.db'), join(home, 'worktrees')]
  const withParts = async <T>(run: (deps: Parameters<typeof makeWorktree>[1]) => Promise<T>): Promise<T> => {
    await using store = await openStore({ file })
    const settings = nestValues(defaultValues()).worktrees
    return await run({ store, clock: { now: () => Date.now() }, log: silentLog, root, env: {}, settings })
  }
  const git = (...args: string[]) => plainGit(project, home, args)
  const rows = () => withParts(({ store }) => store.worktrees.list())
  return {
    project,
    git,
    rows,
    states: async () => (await rows()).map(({ state }) => state),
    worktrees: () => git('worktree', 'list').trim().split('\n').length,
    recover: () => withParts(recoverWorktrees),
    removeAll: () =>
      withParts(async deps => {
        for (const row of await deps.store.worktrees.list({ states: ['live'] })) await removeWorktree(row, deps)
      }),
    gitIn: (directory: string, ...args: string[]) => plainGit(directory, home, args),
    openRun: () => withParts(({ store }) => insertRun(store, project)),
    keep: (worktree: Worktree) => withParts(({ store }) => store.transaction(tx => keepSlot(worktree, { store }, tx))),
    make: (wanted: Partial<NewWorktreeRequest> = {}) =>
      withParts(async deps => {
        const worktree = await makeWorktree({ project, task: 't-000001', attempt: 1, ...wanted }, deps)
        if ('kind' in worktree) throw new Error(worktree.why)
        return worktree as WorktreeRow
      }),
    dieAt: async (point: string, what: 'make' | 'remove' | 'next') => {
      const env = { ...bareEnv(home), ...COMPILED, PCC_CRASH_AT: point }
      const child = spawn(process.execPath, [CHILD, what, file, root, project], { env, stdio: 'inherit' })
      const [, signal] = await once(child, 'exit')
      assert.equal(signal, 'SIGKILL', `${point} was not reached`)
    },
  }
}
