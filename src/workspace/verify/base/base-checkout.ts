import { lstat, mkdir, readdir, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { shortId } from '../../../base/ids.ts'
import { committer } from '../../git/committer.ts'
import { git } from '../../git/git.ts'
import { outlastOthers } from '../../git/outlast-others.ts'

/** What installers fill and git ignores: the base is run with what the work is run with. */
const DEPENDENCIES = new Set(['node_modules', 'vendor', '.venv', 'venv', 'deps'])

export interface BaseCheckout extends AsyncDisposable {
  /** The folder that the project is of its repository. */
  directory: string
}

/** Takes away what a daemon that died left of such checkouts, and what their repositories have noted of them. */
export async function clearBases(runDir: string): Promise<void> {
  const folder = join(runDir, BASES)
  for (const name of await readdir(folder).catch(() => [])) {
    const top = join(folder, name)
    const { ok, stdout } = await git(top, ['rev-parse', '--path-format=absolute', '--git-common-dir'])
    if (ok) await git(stdout.trim(), ['worktree', 'remove', '--force', '--force', top])
  }
  await rm(folder, { recursive: true, force: true })
}

const BASES = 'bases'

/** A checkout, and from where the work in it began. */
export interface WorkFrom {
  top: string
  directory: string
  /** A commit, or in a project that is worked in itself the tree that it held. */
  base: string
}

/** Takes out what work began with into a worktree of its own, for as long as it is looked at. */
export async function openBase(work: WorkFrom, runDir: string, signal: AbortSignal): Promise<BaseCheckout | undefined> {
  const commit = await commitOf(work)
  if (commit === undefined) return undefined
  const top = join(runDir, BASES, shortId('base'))
  await mkdir(dirname(top), { recursive: true, mode: 0o700 })
  const close = async () => {
    await git(work.top, ['worktree', 'remove', '--force', '--force', top])
    await rm(top, { recursive: true, force: true })
    await git(work.top, ['worktree', 'prune'])
  }
  const add = ['worktree', 'add', '--quiet', '--detach', top, commit]
  const added = await outlastOthers(() => git(work.top, add, { signal }), { signal })
  if (!added.ok) {
    await close()
    return undefined
  }
  await linkDependencies(work.top, top)
  return { directory: join(top, relative(work.top, work.directory)), [Symbol.asyncDispose]: close }
}

/** A tree gets a commit that nothing points at: git takes only those out, and forgets it in time. */
async function commitOf({ top, base }: WorkFrom): Promise<string | undefined> {
  const known = await git(top, ['rev-parse', '--verify', '--quiet', `${base}^{commit}`])
  if (known.ok) return known.stdout.trim()
  const env = await committer(top)
  const made = await git(top, ['commit-tree', base, '-m', 'what a project held when work began in it'], { env })
  return made.ok ? made.stdout.trim() : undefined
}

async function linkDependencies(from: string, to: string): Promise<void> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const { stdout } = await git(from, args)
  const folders = stdout.split('\0').filter(path => path.endsWith('/') && DEPENDENCIES.has(basename(path)))
  for (const folder of folders.map(path => path.slice(0, -1))) {
    const there = await lstat(join(to, dirname(folder))).catch(() => undefined)
    // Where the base has no such folder, or has files of its own there, the work's are none of its business.
    if (there?.isDirectory()) await symlink(join(from, folder), join(to, folder)).catch(() => undefined)
  }
}
