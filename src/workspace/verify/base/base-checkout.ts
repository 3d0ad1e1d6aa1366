import { lstat, mkdir, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { shortId } from '../../../base/ids.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'

/** What installers fill and git ignores: the base is run with what the work is run with. */
const DEPENDENCIES = new Set(['node_modules', 'vendor', '.venv', 'venv', 'deps'])

export interface BaseCheckout extends AsyncDisposable {
  /** The folder that the project is of its repository. */
  directory: string
}

/** Takes away what a daemon that died left of such checkouts. */
export async function clearBases(runDir: string): Promise<void> {
  await rm(join(runDir, BASES), { recursive: true, force: true })
}

const BASES = 'bases'

/** Takes the commit from which a place began out into a worktree of its own, for as long as it is looked at. */
export async function openBase(place: Place, runDir: string, signal: AbortSignal): Promise<BaseCheckout | undefined> {
  const top = join(runDir, BASES, shortId('base'))
  await mkdir(dirname(top), { recursive: true, mode: 0o700 })
  const close = async () => {
    await git(place.top, ['worktree', 'remove', '--force', '--force', top])
    await rm(top, { recursive: true, force: true })
    await git(place.top, ['worktree', 'prune'])
  }
  const added = await git(place.top, ['worktree', 'add', '--quiet', '--detach', top, place.base], { signal })
  if (!added.ok) {
    await close()
    return undefined
  }
  await linkDependencies(place.top, top)
  return { directory: join(top, relative(place.top, place.directory)), [Symbol.asyncDispose]: close }
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
