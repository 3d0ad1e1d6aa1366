import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { messageOf } from '../../base/errors.ts'
import { readRegularFile } from '../../base/files.ts'
import { writeInside } from '../../base/real-folder.ts'
import { isSlot, PRESENT_WORKTREES, type Worktree, type WorktreeRow } from '../../domain/worktree.ts'
import type { Tx } from '../../store/store.ts'
import { git } from '../git/git.ts'
import { claimIdle, findLanded, recordRemoval, removeWorktree, vacateWorktree } from './remove-worktree.ts'
import { findAdminFolder, gitErrorLine, projectFolderName, type WorktreeDeps, worktreeOfRow } from './worktree.ts'

// A run keeps the directories of its tasks: a slot stays, its branch changes. The row of the task that last worked in a slot says
// `idle` while nobody has it; whoever takes it writes `leaving` there first, and the row of the next task and the end of the old one are
// one transaction, so that at every moment the rows say whose the slot is.

/** The path of the first slot of a project that no worktree has. */
export async function findFreeSlot(project: string, { store, root }: Pick<WorktreeDeps, 'store' | 'root'>) {
  const taken = await store.worktrees.list({ project, states: PRESENT_WORKTREES })
  const folder = join(root, projectFolderName(project))
  for (let number = 1; ; number += 1) {
    const top = join(folder, `slot-${number}`)
    if (!taken.some(row => row.top === top)) return top
  }
}

/** Writes the row of a worktree in a new slot; false if somebody else has taken the slot meanwhile. */
export async function putInFreeSlot(row: WorktreeRow, { store }: Pick<WorktreeDeps, 'store'>): Promise<boolean> {
  return store.transaction(async tx => {
    const others = await store.worktrees.list({ project: row.project, states: PRESENT_WORKTREES }, tx)
    if (others.some(({ top, task, attempt }) => top === row.top && !(task === row.task && attempt === row.attempt)))
      return false
    await store.worktrees.put(row, tx)
    return true
  })
}

/**
 * Keeps the slot of a task that is over, in the transaction that ends it, if a run of its project is open: the next task may come at once.
 * False if the worktree is in no slot, or nobody needs it any more.
 */
export async function keepSlot(
  worktree: Pick<Worktree, 'task' | 'attempt'>,
  { store }: Pick<WorktreeDeps, 'store'>,
  tx: Tx,
): Promise<boolean> {
  const row = await store.worktrees.get(worktree, tx)
  if (row?.state !== 'live' || !isSlot(row)) return false
  if ((await store.runs.list({ project: row.project, open: true }, tx)).length === 0) return false
  await store.worktrees.update(row, { state: 'idle', reason: 'kept for the next task of the run' }, tx)
  return true
}

/**
 * Takes an idle slot of the project for the worktree that `wanted` describes, whose row then says `making`. What the last task left there is
 * archived first, as if its worktree were removed. Undefined if there is none, or none that can be taken now.
 */
export async function takeSlot(wanted: WorktreeRow, deps: WorktreeDeps): Promise<WorktreeRow | undefined> {
  const { project, repository } = wanted
  const idle = await deps.store.worktrees.list({ project, repository, states: ['idle'] })
  const folder = join(deps.root, projectFolderName(project))
  for (const last of idle.filter(({ top }) => isSlot({ top }) && dirname(top) === folder)) {
    if (!existsSync(last.top) || !(await claimIdle(last, deps))) continue
    const taken = await handOver(last, wanted, deps).catch(async error => {
      // Another slot is made: what is wrong with the work of one task holds up no other.
      deps.log.warn({ task: last.task, top: last.top, error }, 'a slot could not be handed over')
      await deps.store.worktrees.update(last, { state: 'idle', reason: messageOf(error) })
    })
    if (taken) return taken
  }
  return undefined
}

async function handOver(last: WorktreeRow, wanted: WorktreeRow, deps: WorktreeDeps): Promise<WorktreeRow | undefined> {
  const { store, log } = deps
  const putBack = (reason: string) => store.worktrees.update(last, { state: 'idle', reason })
  const landed = await findLanded(last, deps)
  const options = { landed, isWaiting: deps.isWaiting }
  const left = await vacateWorktree(last, options, archive => store.worktrees.update(last, { archive }))
  if (left.kind === 'kept') return void (await putBack(left.why))
  const problem = await leaveBranch(last, left.head)
  if (problem !== undefined) {
    log.info({ task: last.task, top: last.top, problem }, 'a slot is not used again')
    await putBack(problem)
    return void (await removeWorktree(worktreeOfRow(last), deps))
  }
  const { top } = last
  const row = { ...wanted, top, directory: join(top, wanted.directory.slice(wanted.top.length)) }
  const end = left.kind === 'archived' ? left : ({ kind: 'removed' } as const)
  await store.transaction(async tx => {
    await recordRemoval(last, end, deps, tx)
    await store.worktrees.put(row, tx)
  })
  crashPoint('slot.after-take')
  log.info({ task: row.task, attempt: row.attempt, top, after: last.task }, 'a slot was handed over')
  return row
}

/** Takes HEAD off the branch of the last task, and deletes the branch: nothing on it would be lost. Returns why that fails. */
async function leaveBranch(row: WorktreeRow, head: string): Promise<string | undefined> {
  const { repository, branch } = row
  const own = await findAdminFolder(row)
  const before = own && (await readRegularFile(join(own, 'HEAD')).catch(() => undefined))?.toString()
  // Refs that are not kept in files have a HEAD that git alone can write.
  if (!own || !before || before.includes('.invalid') || !/^[0-9a-f]{40,64}$/.test(head))
    return 'nobody can tell what is checked out in it'
  if (!(await writeInside(own, 'HEAD', `${head}\n`))) return `${own} is a link`
  const { ok, stderr } = await git(repository, ['update-ref', '-d', `refs/heads/${branch}`])
  return ok ? undefined : `its branch ${branch} cannot be deleted: ${gitErrorLine(stderr)}`
}

/** Removes the idle slots of projects that have no open run. Returns how many; one that cannot be removed now stays. */
export async function removeIdleSlots(
  deps: Pick<WorktreeDeps, 'store' | 'clock' | 'log'>,
  project?: string,
): Promise<number> {
  let count = 0
  for (const row of await deps.store.worktrees.list({ project, states: ['idle'] })) {
    if ((await deps.store.runs.list({ project: row.project, open: true })).length > 0) continue
    const removal = await removeWorktree(worktreeOfRow(row), deps).catch(error => {
      deps.log.warn({ task: row.task, top: row.top, error }, 'a slot that nobody needs is still there')
      return undefined
    })
    if (removal && removal.kind !== 'kept') count += 1
  }
  return count
}
