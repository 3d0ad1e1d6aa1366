import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { WORKSPACE_CRASH_POINTS } from '../../../src/base/crash-point.ts'
import { readProcessTable } from '../../../src/base/process/process-table.ts'
import { MERGE_STRATEGIES, type MergeStrategy } from '../../../src/domain/option-values.ts'
import { bareEnv, COMPILED } from '../../support/world.ts'
import { type MergeFixture, openMergeFixture } from './merge-fixture.ts'

const DRIVER = fileURLToPath(new URL('./drive-merges.ts', import.meta.url))

/** Crash points of a merge; those of making a worktree are not among them. */
export const MERGE_POINTS = WORKSPACE_CRASH_POINTS.filter(
  name => name.startsWith('merge.') || name === 'place.before-remove' || name === 'place.after-remove',
)

/** `machine`: everything that the driver started dies with it, at any moment. */
export type Death = { at: (typeof MERGE_POINTS)[number]; nth: number } | { afterMs: number; who: 'driver' | 'machine' }

export interface Round {
  death: Death
  strategy: MergeStrategy
  batch: number
}

/** A round for each number: every crash point in turn, and between them a random moment. */
export function roundOf(number: number, chance: number): Round {
  const at = MERGE_POINTS[Math.floor(number / 2) % MERGE_POINTS.length] ?? 'merge.before-ref'
  const nth = 1 + (Math.floor(number / 2 / MERGE_POINTS.length) % 2)
  const who = number % 4 === 1 ? 'machine' : 'driver'
  const death: Death = number % 2 === 0 ? { at, nth } : { afterMs: 50 + chance * 900, who }
  return {
    death,
    strategy: MERGE_STRATEGIES[number % MERGE_STRATEGIES.length] ?? 'rebase',
    batch: 1 + (number % 2) * 2,
  }
}

/** One repository and store for all rounds; each queues two tasks, lets the driver die, and checks that they land. */
export async function openKillFixture(t: TestContext) {
  const world = await openMergeFixture(t, { files: { 'a.txt': 'a\n', 'dir/b.txt': 'b\n' } })
  const home = dirname(world.deps.root)
  let count = 0
  let deaths = 0
  const works = new Map<string, string[]>()
  return {
    world,
    deaths: () => deaths,
    /** Returns when everything has landed, or throws. */
    async round({ death, strategy, batch }: Round): Promise<void> {
      const tasks = Array.from({ length: 2 }, () => `t-${(++count).toString(16).padStart(6, '0')}`)
      for (const [slot, task] of tasks.entries()) {
        const worktree = await world.work(task, {
          [`dir/${task}.txt`]: 'x'.repeat(20_000),
          [`slot-${slot}.txt`]: `${task}\n`.repeat(100),
        })
        world.gitIn(worktree.top, 'commit', '-q', '--allow-empty', '-m', `second of ${task}`)
        await world.enqueue(worktree, { strategy })
        works.set(task, world.gitIn(worktree.top, 'rev-list', `${worktree.base}..HEAD`).trim().split('\n'))
      }
      if (await drive(home, batch, death)) deaths += 1
      await drive(home, batch)
      const notes = join(home, 'notes')
      assert.ok(!existsSync(notes), existsSync(notes) ? readFileSync(notes, 'utf8') : '')
      await checkRound(world, tasks, works)
    },
  }
}

/** Runs the driver; true where it died. */
async function drive(home: string, batch: number, death?: Death): Promise<boolean> {
  const env = {
    ...bareEnv(home),
    ...COMPILED,
    ...(death && 'at' in death && { PCC_CRASH_AT: `${death.at}:${death.nth}` }),
  }
  const child = spawn(process.execPath, [DRIVER, home, String(batch)], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', chunk => {
    errors += chunk
  })
  const closed = once(child, 'close')
  if (death && 'afterMs' in death) {
    await Promise.race([sleep(death.afterMs), closed])
    if (child.exitCode === null && child.pid !== undefined) killFamily(child.pid, death.who)
  }
  const [code, signal] = await closed
  assert.ok(signal === 'SIGKILL' || code === 0, errors)
  return signal === 'SIGKILL'
}

/** The driver is stopped first, so that it cannot start another process meanwhile. */
function killFamily(pid: number, who: 'driver' | 'machine'): void {
  const family = [pid]
  if (who === 'machine') {
    process.kill(pid, 'SIGSTOP')
    for (const member of family) {
      family.push(
        ...readProcessTable()
          .filter(({ parent }) => parent === member)
          .map(row => row.pid),
      )
    }
  }
  for (const member of family) {
    try {
      process.kill(member, 'SIGKILL')
    } catch {
      // It has just exited.
    }
  }
}

/** Checks that nothing is lost, everything landed once, and the checkout matches its branch. */
async function checkRound(world: MergeFixture, tasks: readonly string[], works: ReadonlyMap<string, string[]>) {
  assert.equal(world.git('status', '--porcelain'), '', 'the main checkout is clean')
  assert.ok(!existsSync(join(world.project, '.git', 'index.lock')))
  const landed = (await world.deps.store.events({ kinds: ['merge.landed'] })).map(
    ({ body }) => 'task' in body && body.task,
  )
  for (const task of tasks) {
    assert.equal(landed.filter(each => each === task).length, 1, `${task} landed once`)
    assert.equal(world.git('log', '--format=%H', 'main', '--', `dir/${task}.txt`).trim().split('\n').length, 1)
    assert.equal((await world.row(task)).state, 'merged')
  }
  assert.equal(world.git('branch', '--list', 'pcc/*'), '', 'branches are gone')
  assert.equal(world.git('worktree', 'list').trim().split('\n').length, 1, 'worktrees are gone')
  const kept = new Set(world.git('rev-list', '--all').split('\n'))
  const lost = [...works].flatMap(([task, commits]) =>
    commits.filter(commit => !kept.has(commit)).map(commit => `${task}: ${commit}`),
  )
  assert.deepEqual(lost, [], 'every commit is reachable')
  world.git('fsck', '--no-dangling', '--no-progress')
}
