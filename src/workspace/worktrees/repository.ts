import { readFile, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { findProgram } from '../../base/process/find-program.ts'
import { type GitResult, git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'
import { readRefs } from '../git/read-refs.ts'
import { meaningOf } from './refusal.ts'

/** A repository as whoever wants a worktree of it has to know it. */
export interface Repository {
  /** Where git is called: the project's own checkout, or the repository where it has none. */
  at: string
  /** What all its checkouts share. */
  common: string
  /** Top of the project's checkout. */
  top: string
  /** The project within it; empty for the whole. */
  inside: string
  target: string
  base: string
  /** The task's branch, where there is one already. */
  branch: { tip: string; checkedOutIn: string } | undefined
}

/** `in_place`: there is nothing to make a worktree of. `refused`: there is, and somebody has to do something first. */
export type Look =
  | { kind: 'there'; repository: Repository }
  | { kind: 'in_place'; why: string }
  | { kind: 'refused'; why: string; remedy: string }

/** Looks a project's repository up: by its files, and with one call of git. */
export async function lookAt(wanted: { project: string; task: string; target?: string | undefined }): Promise<Look> {
  const project = await realpath(wanted.project).catch(() => wanted.project)
  const folder = await findGitFolder(project)
  if (!folder) return { kind: 'in_place', why: 'it is in no git repository' }
  const target = wanted.target ?? (await checkedOut(folder.own))
  if (target === undefined) return DETACHED
  if (findProgram('git', process.env) === undefined) return { kind: 'in_place', why: 'git is not installed' }
  const [wantedRef, ours] = [`refs/heads/${target}`, `refs/heads/pcc/${wanted.task}`]
  const refs = await refsOf(project, folder.common, [wantedRef, ours])
  if ('stderr' in refs) return { kind: 'refused', ...meaningOf(refs.stderr) }
  const base = refs.get(wantedRef)?.tip
  if (base === undefined) return wanted.target === undefined ? NO_COMMIT : noSuch(target)
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

const FORMAT = '--format=%(refname)%00%(objectname)%00%(worktreepath)%00'

const DETACHED: Look = {
  kind: 'refused',
  why: 'no branch is checked out there (detached HEAD), so nobody knows where the work is to go',
  remedy: 'Check a branch out with: git switch BRANCH. Or name one: pcc config set merge.target BRANCH',
}

const NO_COMMIT: Look = { kind: 'in_place', why: 'its repository has no commit yet' }

function noSuch(target: string): Look {
  return {
    kind: 'refused',
    why: `there is no branch "${target}"`,
    remedy: `Make it with: git branch ${target}. Or name another one: pcc config set merge.target BRANCH`,
  }
}

type Refs = Map<string, { tip: string; checkedOutIn: string }>

/** From their files, as long as there is no branch of ours: only git knows where that is checked out. */
async function refsOf(at: string, common: string, names: [target: string, ours: string]): Promise<Refs | GitResult> {
  const read = await readRefs(common, names)
  const tip = read?.get(names[0])
  if (read && tip !== undefined && !read.has(names[1])) return new Map([[names[0], { tip, checkedOutIn: '' }]])
  const listed = await git(at, ['for-each-ref', FORMAT, ...names])
  return listed.ok ? new Map(listed.stdout.split('\0\n').map(line => refOf(line))) : listed
}

/** The branch of a checkout; undefined where it has none. */
async function checkedOut(own: string): Promise<string | undefined> {
  const head = await readFile(join(own, 'HEAD'), 'utf8').catch(() => '')
  const name = /^ref: refs\/heads\/(.+)\n?$/.exec(head)?.[1]
  // So it says where branches are kept in another form than files, and git has to be asked.
  if (name !== '.invalid') return name
  const { ok, stdout } = await git(own, ['symbolic-ref', '--short', '-q', 'HEAD'])
  return ok ? stdout.trimEnd() : undefined
}

function refOf(line: string): [string, { tip: string; checkedOutIn: string }] {
  const [name = '', tip = '', checkedOutIn = ''] = line.split('\0')
  return [name, { tip, checkedOutIn }]
}
