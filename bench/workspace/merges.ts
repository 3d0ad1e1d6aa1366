import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { defaultValues, nestValues } from '../../src/domain/config/settings.ts'
import { openStore } from '../../src/store/open.ts'
import { enqueueMerge } from '../../src/workspace/merge/queue.ts'
import { makeWorktree } from '../../src/workspace/worktrees/make-worktree.ts'
import type { WorktreeDeps } from '../../src/workspace/worktrees/worktree.ts'
import { driveQueue, type QueueDriver } from '../../test/workspace/merge/drive-queue.ts'
import { verificationOf } from '../../test/workspace/merge/merge-fixture.ts'
import type { BenchRow } from '../row.ts'

const FILES = 50
const MERGES = 40
const BUDGET = 200

/**
 * Queued merges per minute on a small repository whose target is checked out, with a gate that does nothing. All tasks started
 * at the same commit, so each but the first is rebased; worktree and branch are removed after each. One at a time, and in batches.
 */
export async function benchMerges(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const batch of [1, 4]) {
    const aMinute = await mergesAMinute(batch)
    const how = batch === 1 ? 'one at a time' : `in batches of ${batch}`
    rows.push({
      what: `queued merges, ${MERGES} rebased tasks, ${how}`,
      measured: `${aMinute.toFixed(0)} a minute`,
      budget: `≥ ${BUDGET} a minute`,
      ok: aMinute >= BUDGET,
    })
  }
  return rows
}

async function mergesAMinute(batch: number): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  const log = openLog({ file: join(dir, 'log'), level: 'info', maxBytes: 1_000_000, keep: 1 })
  try {
    const project = await repository(join(dir, 'project'))
    await using store = await openStore({ file: join(dir, 'store.db') })
    const settings = nestValues(defaultValues()).worktrees
    const worktrees = { store, log, clock: systemClock, root: join(dir, 'worktrees'), env: process.env, settings }
    for (let task = 0; task < MERGES; task += 1) await queued(`t-${String(task).padStart(6, '0')}`, project, worktrees)
    let landed = 0
    const driver: QueueDriver = {
      deps: { store, clock: systemClock, log, env: {}, isStale: async () => false },
      batch,
      verify: async ({ result }) => verificationOf('passed', result),
      note: ({ kind }) => {
        if (kind === 'merged') landed += 1
      },
    }
    const from = performance.now()
    for (const queue of await store.merges.queues()) await driveQueue(queue, driver)
    const ms = performance.now() - from
    if (landed !== MERGES) throw new Error(`${landed} of ${MERGES} landed`)
    return (landed / ms) * 60_000
  } finally {
    log.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function queued(task: string, project: string, deps: WorktreeDeps): Promise<void> {
  const place = await makeWorktree({ project, task, attempt: 1 }, deps)
  if ('kind' in place) throw new Error(place.why)
  writeFileSync(join(place.top, `${task}.txt`), `${task}\n`)
  await git(place.top, 'add', '-A')
  await git(place.top, 'commit', '-qm', `work of ${task}`)
  const head = (await git(place.top, 'rev-parse', 'HEAD')).trim()
  const { store, clock } = deps
  await store.transaction(tx => enqueueMerge(place, { strategy: 'rebase', head }, { store, clock, tx }))
}

async function repository(dir: string): Promise<string> {
  mkdirSync(dir)
  for (let file = 0; file < FILES; file += 1) writeFileSync(join(dir, `file-${file}.txt`), `text ${file}\n`.repeat(20))
  await git(dir, 'init', '-q', '-b', 'main')
  await git(dir, 'add', '-A')
  await git(dir, 'commit', '-qm', 'first')
  return dir
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  const who = ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.invalid', '-c', 'core.hooksPath=/dev/null']
  return (await promisify(execFile)('git', [...who, ...args], { cwd })).stdout
}
