import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { defaultValues, nestValues } from '../../src/domain/config/settings.ts'
import { openStore } from '../../src/store/open.ts'
import { makeWorktree } from '../../src/workspace/worktrees/make-worktree.ts'
import { removeWorktree } from '../../src/workspace/worktrees/remove-worktree.ts'
import type { WorktreeDeps } from '../../src/workspace/worktrees/worktree.ts'
import { race } from '../measure.ts'
import type { BenchRow } from '../row.ts'

const FILES = 2_000
const ROUNDS = 7

/**
 * Making and removing a worktree with everything that belongs to it (rows, proof that nothing is lost, the branch), compared
 * with the three git commands by which a person does the same: add with a branch, remove, delete the branch.
 */
export async function benchWorktrees(): Promise<BenchRow[]> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    const project = await repository(join(dir, 'project'))
    await using store = await openStore({ file: join(dir, 'store.db') })
    const log = openLog({ file: join(dir, 'log'), level: 'info', maxBytes: 1_000_000, keep: 1 })
    const settings = nestValues(defaultValues()).worktrees
    const deps = { store, log, clock: systemClock, root: join(dir, 'worktrees'), env: process.env, settings }
    let round = 0
    const times = await race(
      {
        ours: () => ours(project, `t-${String(round++).padStart(6, '0')}`, deps),
        git: () => plain(project, join(dir, 'plain')),
      },
      ROUNDS,
    )
    log.close()
    const ratio = times.ours / times.git
    return [
      {
        what: `worktree made and removed, ${FILES.toLocaleString('en')} files, against plain git`,
        measured: `${times.ours.toFixed(0)} ms (git ${times.git.toFixed(0)} ms)`,
        ratio,
        budget: '≤ 1.2×',
        ok: ratio <= 1.2,
      },
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function ours(project: string, task: string, deps: WorktreeDeps): Promise<void> {
  const place = await makeWorktree({ project, task, attempt: 1 }, deps)
  if ('kind' in place) throw new Error(place.why)
  const removal = await removeWorktree(place, deps)
  if (removal.kind !== 'removed') throw new Error(JSON.stringify(removal))
}

async function plain(project: string, tree: string): Promise<void> {
  await git(project, 'worktree', 'add', '-q', '-b', 'plain', tree, 'main')
  await git(project, 'worktree', 'remove', tree)
  await git(project, 'branch', '-q', '-D', 'plain')
}

async function repository(project: string): Promise<string> {
  for (let index = 0; index < FILES; index++) {
    const folder = join(project, `part-${index % 40}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `file-${index}.ts`), `export const value${index} = ${index}\n`.repeat(40))
  }
  await git(project, 'init', '-q', '-b', 'main')
  await git(project, 'add', '-A')
  await git(project, '-c', 'user.name=a', '-c', 'user.email=a@example.invalid', 'commit', '-q', '-m', 'first')
  return project
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  await promisify(execFile)('git', args, {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' },
  })
}

if (import.meta.main) console.table(await benchWorktrees())
