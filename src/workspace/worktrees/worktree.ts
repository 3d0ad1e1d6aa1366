import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { readRegularFile } from '../../base/files.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { Worktree, WorktreeRow } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { CommandCaps } from '../command/command-caps.ts'
import type { OpenCommandSandbox } from '../command/plan-sandbox.ts'
import { git, isRepositoryBusy } from '../git/git.ts'

export type WorktreeSettings = Config['worktrees']

/** What is needed to make and remove worktrees. */
export interface WorktreeDeps {
  store: Store
  clock: Clock
  log: Log
  /** Directory of all worktrees. */
  root: string
  /** The person's environment, of which the set-up command sees a selection. */
  env: Record<string, string | undefined>
  settings: WorktreeSettings
  /** The sandbox around the set-up command. */
  sandbox?: OpenCommandSandbox | undefined
  /** What the set-up command may use. */
  caps?: CommandCaps | undefined
  /** Whether a process is an agent that waits for its next task in its slot. */
  isWaiting?: ((pid: number) => boolean) | undefined
  /** Ends the agents that wait for a next task in a worktree, which is about to be removed. */
  endWaiting?: ((top: string) => Promise<void>) | undefined
}

/** The part of a row that a session keeps. */
export function worktreeOfRow({ directory, top, task, attempt, branch, target, base }: WorktreeRow): Worktree {
  return { directory, top, task, attempt, branch, target, base }
}

/** Writes that a worktree can be worked in, together with its event. */
export async function markLive(
  row: WorktreeRow,
  { restored, ...patch }: Partial<WorktreeRow> & { restored?: string },
  { store }: Pick<WorktreeDeps, 'store'>,
): Promise<Worktree> {
  const { task, attempt, branch, target, base, directory } = row
  const body = { task, attempt, branch, target, base, directory, ...(restored !== undefined && { restored }) }
  await store.transaction(async tx => {
    await store.worktrees.update(row, { state: 'live', ...patch }, tx)
    await tx.append([{ actor: 'daemon', subject: task, kind: 'worktree.made', body }])
  })
  return worktreeOfRow(row)
}

/** The name of a project's folder below the root: readable, and unique, since many projects are called "api". */
export function projectFolderName(project: string): string {
  const readable = basename(project)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40)
  return `${readable || 'project'}-${createHash('sha256').update(project).digest('hex').slice(0, 6)}`
}

/**
 * Whether a directory is still the worktree that was made there. The agent can change everything in it, the file `.git` too: one
 * that points elsewhere would make us look at another repository, and find that nothing is left to keep.
 */
export async function isOwnWorktree({ top, repository }: Pick<WorktreeRow, 'top' | 'repository'>): Promise<boolean> {
  return (await findAdminFolder({ top, repository })) !== undefined
}

/** The folder that git keeps for a worktree within its repository; undefined if the two do not point at each other. */
export async function findAdminFolder({
  top,
  repository,
}: Pick<WorktreeRow, 'top' | 'repository'>): Promise<string | undefined> {
  try {
    const file = join(top, '.git')
    if (!(await lstat(file)).isFile()) return undefined
    const own = await realpath(/^gitdir: ([\s\S]+?)\n?$/.exec((await readRegularFile(file)).toString())?.[1] ?? '')
    const name = relative(await realpath(join(repository, 'worktrees')), own)
    if (name === '' || name.startsWith('..') || name.includes('/')) return undefined
    const back = (await readRegularFile(join(own, 'gitdir'))).toString().replace(/\n$/, '')
    return (await realpath(dirname(back))) === (await realpath(top)) ? own : undefined
  } catch {
    return undefined // one of the files is missing
  }
}

/**
 * Whether a directory is still the worktree that was made there, after a repair: the file `.git` is written again where it is
 * missing or points elsewhere, and git's folder for it where somebody had git forget it. A repository that was made there stays.
 */
export async function repairGitLink(row: Pick<WorktreeRow, 'top' | 'repository' | 'branch'>): Promise<boolean> {
  if (await isOwnWorktree(row)) return true
  if (!(await lstat(row.top).catch(() => undefined))?.isDirectory()) return false
  const file = join(row.top, '.git')
  const stats = await lstat(file).catch(() => undefined)
  if (stats?.isDirectory()) return false
  const own = (await findRegisteredFolder(row)) ?? (await registerAgain(row))
  if (own === undefined) return false
  await rm(file, { force: true })
  await writeFile(file, `gitdir: ${own}\n`, { flag: 'wx' })
  if (!(await isOwnWorktree(row))) return false
  return existsSync(join(own, 'index')) || (await git(row.top, ['read-tree', 'HEAD'])).ok
}

/** The folder in the repository that names this worktree as its own. */
async function findRegisteredFolder({
  top,
  repository,
}: Pick<WorktreeRow, 'top' | 'repository'>): Promise<string | undefined> {
  const parent = join(repository, 'worktrees')
  for (const name of await readdir(parent).catch(() => [])) {
    const folder = join(parent, name)
    const back = (await readRegularFile(join(folder, 'gitdir')).catch(() => '')).toString().replace(/\n$/, '')
    if (back !== '' && (await realpath(dirname(back)).catch(() => '')) === (await realpath(top))) return folder
  }
  return undefined
}

/**
 * Makes git's folder for a worktree anew: `git worktree prune` removes it where git does not see the worktree, on a disk that is not mounted or
 * from a sandbox. What was staged is no longer, and all files are as they were. Undefined if the branch is gone or checked out elsewhere.
 */
async function registerAgain({
  top,
  repository,
  branch,
}: Pick<WorktreeRow, 'top' | 'repository' | 'branch'>): Promise<string | undefined> {
  const listed = await git(repository, ['for-each-ref', '--format=%(worktreepath)', `refs/heads/${branch}`])
  if (!listed.ok || listed.stdout !== '\n') return undefined
  const own = join(repository, 'worktrees', basename(top))
  // Whole or not at all: a half one would be in the way of the next try.
  const fresh = await mkdtemp(join(repository, 'pcc-worktree-')).catch(() => undefined)
  if (fresh === undefined) return undefined
  try {
    await mkdir(dirname(own), { recursive: true })
    await writeFile(join(fresh, 'commondir'), '../..\n')
    await writeFile(join(fresh, 'gitdir'), `${join(top, '.git')}\n`)
    await writeFile(join(fresh, 'HEAD'), `ref: refs/heads/${branch}\n`)
    await rename(fresh, own)
  } catch {
    await rm(fresh, { recursive: true, force: true })
    return undefined // another worktree of that name is there, or the disk is full
  }
  return own
}

export interface WorktreeRefusal {
  why: string
  remedy: string
  /** Another git was at work at the same moment: it only has to be tried again. */
  passes?: boolean
}

/** The error for a worktree that cannot be made or removed, with what to do about it. */
export function worktreeError(
  { task, project }: { task: string; project: string },
  { why, remedy, passes }: WorktreeRefusal,
): AppError {
  return new AppError(passes ? 'place_busy' : 'place_refused', { task, project, why, remedy })
}

/** The error of a task whose earlier worktree is in the way. */
export function stillThereError(
  wanted: { task: string; project: string },
  { attempt, task, top }: WorktreeRow,
  why: string,
): AppError {
  return worktreeError(wanted, {
    why: `the worktree of attempt ${attempt} of ${task} cannot be removed: ${why}`,
    remedy: `See it with: pcc worktree show ${task}. It is in ${top}`,
  })
}

/** Translates git's error into a reason and a remedy for a person. */
export function explainGitError(stderr: string): WorktreeRefusal {
  const remedy = REMEDIES.find(([words]) => words.test(stderr))?.[1] ?? 'Mend what git says, then try again.'
  return { why: gitErrorLine(stderr), remedy, passes: isRepositoryBusy(stderr) }
}

const REMEDIES: [RegExp, string][] = [
  [
    /No space left|Disk quota|File too large/i,
    'Make room on that disk, or name another one: pcc config set worktrees.directory PATH',
  ],
  [
    /Permission denied|Read-only file system|insufficient permission/i,
    'Correct its permissions, or name another directory: pcc config set worktrees.directory PATH',
  ],
  [
    /'refs\/heads\/pcc' exists/,
    'Git cannot have branches pcc/… beside a branch "pcc". Rename it: git branch -m pcc OTHER-NAME',
  ],
  [/dubious ownership/, 'If you trust that repository: git config --global --add safe.directory PATH'],
  [
    /already (checked out|used by worktree)/,
    'Check another branch out there, or remove that worktree: git worktree remove PATH',
  ],
  [
    /\.lock\b|could not lock|another git process/i,
    'Wait until the other git is done; if there is none, delete the lock file that is named.',
  ],
  [/\bworktrees\//, 'Another git was at work in the same repository: try again.'],
]

/** Git's error, on one line. */
export function gitErrorLine(stderr: string): string {
  const lines = stderr
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('hint:'))
  return (lines.findLast(line => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? 'git failed').replace(/^\w+: /, '')
}
