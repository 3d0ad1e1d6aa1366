import { constants } from 'node:fs'
import { copyFile, cp, lstat, mkdir, opendir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Worktree } from '../../../domain/workspace/place.ts'

/**
 * Directories that programs fill and git ignores. A virtual environment of Python is not among them: it knows its own path, and
 * whoever installs something in a copy of it installs it in the person's.
 */
const USUAL = ['node_modules', 'vendor', 'target']

/** Where every byte has to be copied, no more than this: beyond it the set-up command is quicker. */
const MOST_BYTES = 300_000_000
const MOST_FILES = 40_000
/** Where the file system shares the bytes, only the number of files takes time. */
const MOST_SHARED_FILES = 400_000

/**
 * Gives a worktree the project's dependency directories: a copy that shares its bytes with the original until one of them is
 * written, where the file system can do that, else a plain copy as long as it is small. Never a link: an agent that installs
 * something would change what the person works with. Gives what it did, in words, and which folders are copies.
 */
export async function copyDependencies(
  row: Worktree,
  named: readonly string[],
  signal: AbortSignal,
): Promise<{ said: string[]; copied: string[] }> {
  const said: string[] = []
  const copied: string[] = []
  for (const name of named.length > 0 ? named : USUAL) {
    const [from, to] = [join(row.project, name), join(row.directory, name)]
    const isThere = (await lstat(from).catch(() => undefined))?.isDirectory()
    // What is part of the repository is there already, and so is what an earlier try has copied.
    if (!isThere || (await lstat(to).catch(() => undefined))) continue
    const done = await copyOne(name, { from, to, signal })
    said.push(done.said)
    if (done.isCopied) copied.push(name)
  }
  return { said, copied }
}

/** Copies one of them, which is not there yet. */
export async function copyOne(
  name: string,
  way: { from: string; to: string; signal: AbortSignal },
): Promise<{ said: string; isCopied: boolean }> {
  const { from, to, signal } = way
  const isShared = await canShare(from, to)
  const size = await sizeOf(from, isShared ? { files: MOST_SHARED_FILES } : { files: MOST_FILES, bytes: MOST_BYTES })
  if (!size) return { said: `${name} is too large to be copied: let worktrees.setup make it`, isCopied: false }
  // It gets its name when it is whole: half of it would pass for all of it.
  const aside = `${to}.pcc-copying`
  try {
    await rm(aside, { recursive: true, force: true })
    await cp(from, aside, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      mode: constants.COPYFILE_FICLONE,
      filter: () => {
        signal.throwIfAborted()
        return true
      },
    })
    await rename(aside, to)
    return { said: `${name} ${isShared ? 'copied on write' : 'copied'} (${size.files} files)`, isCopied: true }
  } catch (thrown) {
    await rm(aside, { recursive: true, force: true })
    const why = signal.aborted ? 'it took too long' : (thrown as Error).message
    return { said: `${name} could not be copied (${why})`, isCopied: false }
  }
}

/** Found out by doing it, with a file of the directory itself: it may lie on another disk. */
async function canShare(from: string, to: string): Promise<boolean> {
  const sample = await firstFile(from)
  if (sample === undefined) return false
  const probe = `${to}.pcc-probe`
  try {
    await mkdir(dirname(probe), { recursive: true })
    await copyFile(sample, probe, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false // the file system cannot, or the two are on different ones
  } finally {
    await rm(probe, { force: true })
  }
}

async function firstFile(folder: string): Promise<string | undefined> {
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (entry.isFile()) return join(entry.parentPath, entry.name)
  }
  return undefined
}

/** How much there is, or undefined as soon as it is more than that. */
async function sizeOf(
  folder: string,
  most: { files: number; bytes?: number },
): Promise<{ files: number; bytes: number } | undefined> {
  const size = { files: 0, bytes: 0 }
  for await (const entry of await opendir(folder, { recursive: true, bufferSize: 256 })) {
    if (!entry.isFile()) continue
    size.files += 1
    if (most.bytes !== undefined) size.bytes += (await lstat(join(entry.parentPath, entry.name))).size
    if (size.files > most.files || size.bytes > (most.bytes ?? Number.POSITIVE_INFINITY)) return undefined
  }
  return size
}
