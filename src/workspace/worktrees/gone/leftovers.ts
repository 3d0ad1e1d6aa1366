import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worktree } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { indexMarks } from '../../git/index-marks.ts'
import { readRefs } from '../../git/read-refs.ts'
import { adminFolder } from '../genuine.ts'

/** What a worktree holds that its target does not. */
export interface Leftovers {
  head: string
  /** Changed, staged, removed, in conflict, or new; ignored files are not among them. */
  paths: string[]
  /** Marked as unchanged or left out for git, and yet on the disk: nobody knows without a look. */
  hidden: string[]
  /** Repositories within it, which no commit of this one can hold. */
  repositories: string[]
  /** Commits of stashes that were made on its branch. */
  stashes: string[]
  /** Nothing of its branch or of what is checked out is missing in the target. */
  isMerged: boolean
}

/**
 * Looks at everything that would be lost, with one call of git as a rule. Undefined where it cannot be told: nothing is known
 * then, and nothing may be removed. `landed` is a commit that reached the target in another form.
 */
export async function leftoversOf(row: Worktree, landed?: string): Promise<Leftovers | undefined> {
  const [status, marks, stashes] = await Promise.all([
    git(row.top, ['status', '--porcelain=v2', '-z', '--branch', '--no-renames', '--untracked-files=all']),
    adminFolder(row).then(own => indexMarks(row.top, own)),
    stashesOf(row),
  ])
  if (!status.ok || !marks) return undefined
  const lines = status.stdout.split('\0')
  const head = lines.find(line => line.startsWith('# branch.oid '))?.slice('# branch.oid '.length) ?? ''
  const isMerged = await isInTarget(row, head, landed)
  if (isMerged === undefined) return undefined
  const changed = lines.flatMap(line => pathOf(line) ?? [])
  const inner = changed.filter(path => path.endsWith('/')).map(path => path.slice(0, -1))
  return {
    head,
    paths: changed.filter(path => !path.endsWith('/')),
    hidden: await there(row.top, marks.unseen),
    repositories: [...inner, ...(await there(row.top, marks.submodules, '.git'))],
    stashes,
    isMerged,
  }
}

/** `1 .M N... 100644 100644 100644 <oid> <oid> <path>`, `u` with two fields more, `? <path>`. */
function pathOf(line: string): string | undefined {
  if (line.startsWith('? ')) return line.slice(2)
  const fields = line.startsWith('1 ') ? 8 : line.startsWith('u ') ? 10 : 0
  return fields === 0 ? undefined : line.split(' ').slice(fields).join(' ')
}

async function there(top: string, paths: string[], below = ''): Promise<string[]> {
  const found = await Promise.all(paths.map(path => lstat(join(top, path, below)).catch(() => undefined)))
  return paths.filter((_, index) => found[index] !== undefined)
}

async function isInTarget(row: Worktree, head: string, landed: string | undefined): Promise<boolean | undefined> {
  const [target, branch] = [`refs/heads/${row.target}`, `refs/heads/${row.branch}`]
  const tips = await readRefs(row.repository, [target, branch])
  // Nothing was done, or it was fast-forwarded: no history has to be walked.
  if (tips?.has(target) && head === tips.get(target) && (tips.get(branch) ?? head) === head) return true
  const known = [target, ...(landed ? [landed] : [])]
  const missing = (...commits: string[]) => git(row.top, ['rev-list', '-1', ...commits, '--not', ...known, '--'])
  const both = await missing('HEAD', branch)
  // Its branch may have been deleted by hand.
  const found = both.ok ? both : await missing('HEAD')
  // And so may the target: then nothing is in it.
  if (!found.ok) return (await git(row.top, ['rev-parse', '-q', '--verify', 'HEAD'])).ok ? false : undefined
  return found.stdout.trim() === ''
}

/** Stashes belong to the whole repository; each says on which branch it was made. */
async function stashesOf({ repository, branch, top }: Worktree): Promise<string[]> {
  const file = await readFile(join(repository, 'logs', 'refs', 'stash'), 'utf8').catch(() => '')
  const isOurs = (message: string) => /^(WIP on|On) /.test(message) && message.includes(` ${branch}: `)
  if (file !== '') {
    const lines = file.split('\n').map(line => line.split('\t'))
    return lines.flatMap(([who = '', message = '']) => (isOurs(message) ? [who.split(' ')[1] ?? ''] : []))
  }
  const isOther = await lstat(join(repository, 'reftable')).catch(() => undefined)
  if (!isOther) return []
  const { stdout } = await git(top, ['log', '-g', '--format=%H%x09%gs', 'refs/stash', '--'])
  return stdout.split('\n').flatMap(line => (isOurs(line.split('\t')[1] ?? '') ? [line.split('\t')[0] ?? ''] : []))
}
