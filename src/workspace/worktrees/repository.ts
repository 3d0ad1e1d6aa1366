import { existsSync } from 'node:fs'
import { realpath, rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { readRegularFile, readRegularFileNow } from '../../base/files.ts'
import { isInside } from '../../base/is-inside.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { quoteForShell } from '../../base/words.ts'
import { branchOfTask, type WorktreeRow } from '../../domain/worktree.ts'
import { type GitResult, git, isRepositoryBusy, retryWhileBusy } from '../git/git.ts'
import { type GitFolder, readGitFolder } from '../git/git-folder.ts'
import { whyGitMustNotWrite } from '../git/git-folder-links.ts'
import { deleteBranch, readRefs } from '../git/refs.ts'
import { explainGitError, gitErrorLine, type WorktreeDeps, worktreeError } from './worktree.ts'

/** What has to be known of a repository to make a worktree of it. */
export interface Repository {
  /** The directory in which git is called: the project's own checkout, or the repository where it has none. */
  at: string
  /** The git directory that all checkouts share. */
  common: string
  /** Top of the project's checkout. */
  top: string
  /** The project's path within the checkout; empty if it is the top. */
  inside: string
  target: string
  base: string
  /** The task's branch, where there is one already. */
  branch: { tip: string; checkedOutIn: string } | undefined
}

/** `in_place`: no worktree can be made of it. `refused`: one can, but a person has to do something first. */
export type RepositoryLookup =
  | { kind: 'there'; repository: Repository }
  | { kind: 'in_place'; why: string }
  | { kind: 'refused'; why: string; remedy: string }

/** Looks up a project's repository: from its files, and with at most one call of git as a rule. */
export async function lookAt(wanted: {
  project: string
  task: string
  target?: string | undefined
}): Promise<RepositoryLookup> {
  const project = await realpath(wanted.project).catch(() => wanted.project)
  const folder = await readGitFolder(project)
  if (typeof folder === 'string')
    return { kind: 'refused', why: folder, remedy: 'Mend that, or remove it if it is not yours, then try again.' }
  if (!folder) return { kind: 'in_place', why: 'it is in no git repository' }
  const target = wanted.target ?? (await readCheckedOutBranch(folder.own))
  if (target === undefined) return detached(project)
  if (findProgram('git', process.env) === undefined) return { kind: 'in_place', why: 'git is not installed' }
  const [wantedRef, ours] = [`refs/heads/${target}`, `refs/heads/${branchOfTask(wanted.task)}`]
  const odd = whyForeign(folder, [wantedRef, ours])
  if (odd !== undefined) return { kind: 'refused', why: odd, remedy: FOREIGN_REMEDY }
  const refs = await readBranches(project, folder.common, [wantedRef, ours])
  if ('stderr' in refs) return { kind: 'refused', ...explainGitError(refs.stderr) }
  const base = refs.get(wantedRef)?.tip
  if (base === undefined) return wanted.target === undefined ? NO_COMMIT : noSuchBranch(target, project)
  return {
    kind: 'there',
    repository: {
      at: project,
      common: folder.common,
      top: folder.top,
      inside: folder.top === folder.own ? '' : relative(folder.top, project),
      target,
      base,
      branch: refs.get(ours),
    },
  }
}

/**
 * Why a repository may hold what belongs to another one: a link among its refs or objects, or objects that it borrows. An agent that worked in
 * a folder without a repository could have made it so, and pcc would check the files of another project out for the next agent.
 */
function whyForeign(folder: GitFolder, refs: readonly string[]): string | undefined {
  const link = whyGitMustNotWrite(folder, { args: ['update-ref', ...refs] })
  if (link !== undefined) return link
  const file = join(folder.common, 'objects/info/alternates')
  const lenders = readRegularFileNow(file, MOST_OF_LENDERS, { follow: false })?.toString().split('\n') ?? []
  const foreign = lenders.find(path => path !== '' && !isInside(resolve(folder.common, 'objects', path), folder.common))
  return foreign === undefined ? undefined : `it borrows objects from ${foreign} (${file})`
}

const MOST_OF_LENDERS = 100_000
const FOREIGN_REMEDY =
  'If that is your own, take what it borrows in with: git repack -a -d, then remove the link or the file.'

const REF_FORMAT = '--format=%(refname)%00%(objectname)%00%(worktreepath)%00'

function detached(project: string): RepositoryLookup {
  return {
    kind: 'refused',
    why: 'no branch is checked out there (detached HEAD), so nobody knows where the work is to go',
    remedy: `Check a branch out with: git switch BRANCH. Or name one: ${nameTarget(project)}`,
  }
}

function nameTarget(project: string): string {
  return `pcc config set merge.target BRANCH --project ${quoteForShell(project)}`
}

const NO_COMMIT: RepositoryLookup = { kind: 'in_place', why: 'its repository has no commit yet' }

function noSuchBranch(target: string, project: string): RepositoryLookup {
  return {
    kind: 'refused',
    why: `there is no branch "${target}"`,
    remedy: `Make it with: git branch ${quoteForShell(target)}. Or name another one: ${nameTarget(project)}`,
  }
}

type Refs = Map<string, { tip: string; checkedOutIn: string }>

/** Reads the branches from their files, unless the task's branch exists: only git knows where that one is checked out. */
async function readBranches(
  at: string,
  common: string,
  names: [target: string, ours: string],
): Promise<Refs | GitResult> {
  const read = readRefs(common, names)
  const tip = read?.get(names[0])
  if (read && tip !== undefined && !read.has(names[1])) return new Map([[names[0], { tip, checkedOutIn: '' }]])
  const listed = await git(at, ['for-each-ref', REF_FORMAT, ...names])
  return listed.ok ? new Map(listed.stdout.split('\0\n').map(line => parseRef(line))) : listed
}

/** The branch of a checkout; undefined if HEAD is detached. */
async function readCheckedOutBranch(own: string): Promise<string | undefined> {
  const head = (await readRegularFile(join(own, 'HEAD')).catch(() => '')).toString()
  const name = /^ref: refs\/heads\/(.+)\n?$/.exec(head)?.[1]
  // HEAD says `.invalid` where refs are not kept in files (reftable): then git has to be asked.
  if (name !== '.invalid') return name
  const { ok, stdout } = await git(own, ['symbolic-ref', '--short', '-q', 'HEAD'])
  return ok ? stdout.trimEnd() : undefined
}

function parseRef(line: string): [string, { tip: string; checkedOutIn: string }] {
  const [name = '', tip = '', checkedOutIn = ''] = line.split('\0')
  return [name, { tip, checkedOutIn }]
}

/** A large repository on a slow disk takes its time. */
const PATIENCE_MS = 10 * 60_000

/**
 * Makes the worktree, and returns what a person should know about it. With `empty`, it has neither files nor a branch yet, and
 * `fillWorktree` adds both. A failure leaves nothing behind.
 */
export async function addWorktree(
  row: WorktreeRow,
  repository: Repository,
  { empty = false, ...deps }: WorktreeDeps & { empty?: boolean },
): Promise<string | null> {
  const { branch } = repository
  // A branch of the same name exists, perhaps of an earlier attempt: its commits are archived, then it starts again.
  if (branch && branch.tip !== row.base) await archiveCommit(row, branch.tip, repository.at)
  const how = empty ? ['--no-checkout', '--detach'] : ['--no-track', branch ? '-B' : '-b', row.branch]
  const add = ['worktree', 'add', '-q', ...how, row.top, row.base]
  const tryOnce = async () => {
    const first = await git(repository.at, add, { timeoutMs: PATIENCE_MS })
    // Somebody deleted the directory of an earlier worktree: git still has it in its list.
    const isListed = !first.ok && first.stderr.includes('already registered')
    return isListed ? git(repository.at, add.with(2, '-f'), { timeoutMs: PATIENCE_MS }) : first
  }
  const added = await retryWhileBusy(tryOnce, { undo: () => undoAddWorktree(row, branch !== undefined) })
  if (added.ok) return noteOn(row)
  await undoAddWorktree(row, branch !== undefined)
  const meaning = explainGitError(added.stderr)
  await deps.store.worktrees.update(row, { state: 'removed', reason: meaning.why, ended_at: deps.clock.now() })
  throw worktreeError(row, meaning)
}

/** Adds a new branch and files to a worktree that was made empty. False if git cannot, or the branch exists by now. */
export async function fillWorktree({ top, branch, base }: WorktreeRow): Promise<boolean> {
  // `-f`: there is no index yet, by which every file counts as deleted.
  return (await git(top, ['checkout', '-q', '-f', '--no-track', '-b', branch, base], { timeoutMs: PATIENCE_MS })).ok
}

/** Removes what a failed or interrupted `addWorktree` has left. No agent has worked in it. */
export async function undoAddWorktree(row: WorktreeRow, keepBranch: boolean): Promise<void> {
  // `--force` twice: git locks a worktree while it is being made.
  await git(row.repository, ['worktree', 'remove', '--force', '--force', row.top], { timeoutMs: PATIENCE_MS })
  await rm(row.top, { recursive: true, force: true })
  if (keepBranch) return
  const tip = await git(row.repository, ['rev-parse', '-q', '--verify', `refs/heads/${row.branch}^{commit}`])
  if (tip.stdout.trim() === row.base) await deleteBranch(row.repository, row.branch)
}

/** What a person should know about a worktree. */
export function noteOn({ top }: Pick<WorktreeRow, 'top'>): string | null {
  return existsSync(join(top, '.gitmodules')) ? SUBMODULES : null
}

const SUBMODULES = 'its submodules are empty (pcc docs worktrees)'

/** Puts a commit under the next free `refs/pcc/archive/<task>/<n>`, and returns the ref. */
export async function archiveCommit(
  { task, project }: Pick<WorktreeRow, 'task' | 'project'>,
  commit: string,
  at: string,
): Promise<string> {
  const prefix = `refs/pcc/archive/${task}/`
  const { stdout } = await git(at, ['for-each-ref', '--format=%(refname)', prefix])
  const highest = Math.max(0, ...stdout.split('\n').map(name => Number(name.slice(prefix.length)) || 0))
  const ref = `${prefix}${highest + 1}`
  // Zeros: the ref must not exist yet.
  const { ok, stderr } = await git(at, ['update-ref', ref, commit, '0'.repeat(commit.length)])
  if (ok) return ref
  const remedy = `Nothing was removed. Mend what git says, then: pcc worktree archive ${task}`
  const why = `its work could not be kept (${gitErrorLine(stderr)})`
  throw worktreeError({ task, project }, { why, remedy, passes: isRepositoryBusy(stderr) })
}
