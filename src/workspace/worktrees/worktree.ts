import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { Worktree, WorktreeRow } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import { isRepositoryBusy } from '../git/git.ts'

export type WorktreeSettings = Config['worktrees']

/** What worktrees are made and removed with. */
export interface WorktreeDeps {
  store: Store
  clock: Clock
  log: Log
  /** Directory of all worktrees. */
  root: string
  /** What the set-up command sees of the person's environment is taken out of it. */
  env: Record<string, string | undefined>
  settings: WorktreeSettings
}

/** The place as a session keeps it. */
export function worktreeOfRow({ directory, top, task, attempt, branch, target, base }: WorktreeRow): Worktree {
  return { directory, top, task, attempt, branch, target, base }
}

/** The name of a project's folder among those of others: readable, and another one for each, since many are called "api". */
export function projectFolderName(project: string): string {
  const readable = basename(project)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40)
  return `${readable || 'project'}-${createHash('sha256').update(project).digest('hex').slice(0, 6)}`
}

/**
 * Whether a directory is still the worktree that was made there. What lies in it belongs to the agent, the file `.git` too:
 * one that points anywhere else would have us look at another repository, and find that nothing is left to keep.
 */
export async function isOwnWorktree({ top, repository }: Pick<WorktreeRow, 'top' | 'repository'>): Promise<boolean> {
  return (await findAdminFolder({ top, repository })) !== undefined
}

/** What git keeps of a worktree within its repository; undefined where the two do not point at one another. */
export async function findAdminFolder({
  top,
  repository,
}: Pick<WorktreeRow, 'top' | 'repository'>): Promise<string | undefined> {
  try {
    const file = join(top, '.git')
    if (!(await lstat(file)).isFile()) return undefined
    const own = await realpath(/^gitdir: ([\s\S]+?)\n?$/.exec(await readFile(file, 'utf8'))?.[1] ?? '')
    const name = relative(await realpath(join(repository, 'worktrees')), own)
    if (name === '' || name.startsWith('..') || name.includes('/')) return undefined
    const back = (await readFile(join(own, 'gitdir'), 'utf8')).replace(/\n$/, '')
    return (await realpath(dirname(back))) === (await realpath(top)) ? own : undefined
  } catch {
    return undefined // something of it is not there
  }
}

/** The same, and writes the file `.git` anew where it is gone or points elsewhere; a repository that was made there stays. */
export async function repairGitLink(row: Pick<WorktreeRow, 'top' | 'repository'>): Promise<boolean> {
  if (await isOwnWorktree(row)) return true
  if (!(await lstat(row.top).catch(() => undefined))?.isDirectory()) return false
  const file = join(row.top, '.git')
  const stats = await lstat(file).catch(() => undefined)
  if (stats?.isDirectory()) return false
  const own = await registeredAs(row)
  if (own === undefined) return false
  await rm(file, { force: true })
  await writeFile(file, `gitdir: ${own}\n`, { flag: 'wx' })
  return isOwnWorktree(row)
}

/** The folder in the repository that says it belongs to this worktree. */
async function registeredAs({ top, repository }: Pick<WorktreeRow, 'top' | 'repository'>): Promise<string | undefined> {
  const all = join(repository, 'worktrees')
  for (const name of await readdir(all).catch(() => [])) {
    const back = (await readFile(join(all, name, 'gitdir'), 'utf8').catch(() => '')).replace(/\n$/, '')
    if (back !== '' && (await realpath(dirname(back)).catch(() => '')) === (await realpath(top))) return join(all, name)
  }
  return undefined
}

export interface WorktreeRefusal {
  why: string
  remedy: string
  /** Another git was at work in the same moment: nobody has to do anything, it only has to be tried again. */
  passes?: boolean
}

/** No worktree, and what to do about it. */
export function worktreeError(
  of: { task: string; project: string },
  { why, remedy, passes }: WorktreeRefusal,
): AppError {
  return new AppError(passes ? 'place_busy' : 'place_refused', { task: of.task, project: of.project, why, remedy })
}

/** What git's words mean for a person. */
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

/** What git says is wrong, on one line. */
export function gitErrorLine(stderr: string): string {
  const lines = stderr
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('hint:'))
  return (lines.findLast(line => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? 'git failed').replace(/^\w+: /, '')
}
