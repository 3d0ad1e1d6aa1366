import { readFile, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { git } from '../git/git.ts'
import { findGitFolder } from '../git/git-folder.ts'

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
  const ours = `refs/heads/pcc/${wanted.task}`
  const listed = await git(project, ['for-each-ref', FORMAT, `refs/heads/${target}`, ours])
  if (listed.code === null && listed.stderr.includes('ENOENT')) return { kind: 'in_place', why: 'git is not installed' }
  if (!listed.ok) return { kind: 'refused', why: told(listed.stderr), remedy: 'Mend what git says, then try again.' }
  const refs = new Map(listed.stdout.split('\0\n').map(line => refOf(line)))
  const base = refs.get(`refs/heads/${target}`)?.tip
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

/** What git says is wrong, on one line. */
export function told(stderr: string): string {
  const lines = stderr
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('hint:'))
  return (lines.findLast(line => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? 'git failed').replace(/^\w+: /, '')
}
