import { closeSync, constants, type Dirent, mkdirSync, openSync, realpathSync, type Stats } from 'node:fs'
import {
  chmod,
  copyFile,
  lchmod,
  lstat,
  lutimes,
  mkdir,
  open,
  readdir,
  readlink,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { isInside } from './is-inside.ts'
import { decodeNames, encodeNames } from './names.ts'

/** A folder that is held open: its entries stay those of this folder, even if somebody puts a link where its path led. */
export interface RealFolder extends AsyncDisposable {
  /** The path of an entry, for one call of the file system. */
  at(name: string): string
}

const FOLDER_ONLY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Opens a folder below `root` without following a link: neither `root` nor any component of `path` may be one. Undefined if a
 * component is missing, a link or no folder. With `make`, missing folders are made.
 */
export async function openRealFolder(
  root: string,
  path = '.',
  { make = false }: { make?: boolean } = {},
): Promise<RealFolder | undefined> {
  let folder = await openFolder(root)
  for (const name of path.split('/').filter(part => part !== '' && part !== '.')) {
    if (!folder || name === '..') return closeFolder(folder)
    await using parent: RealFolder = folder
    // An entry of that name is found out by opening it.
    if (make) await mkdir(parent.at(name)).catch(() => undefined)
    folder = await openFolder(parent.at(name))
  }
  return folder
}

async function openFolder(path: string): Promise<RealFolder | undefined> {
  const handle = await open(encodeNames(path), FOLDER_ONLY).catch(() => undefined)
  if (!handle) return undefined
  // Linux looks such a path up in the open folder; elsewhere only the moment between check and use is left.
  const base = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path
  return { at: name => join(base, name), [Symbol.asyncDispose]: () => handle.close() }
}

/**
 * Opens the folder to which `path` leads, through links too, as long as it is below `root`. An agent may put a link into the way at any moment:
 * what is written and read through the open folder is below `root` all the same. Undefined if the path leads out; throws if there is no such
 * folder. With `make`, missing folders are made. In `latin1` each letter of the path is a byte: names need not be text.
 */
export function openFolderBelow(
  root: string,
  path: string,
  { make = false, encoding = 'utf8' }: { make?: boolean; encoding?: 'utf8' | 'latin1' } = {},
): (Pick<RealFolder, 'at'> & Disposable) | undefined {
  if (make) makeFolderBelow(root, path)
  const top = realpathSync.native(root, encoding)
  const real = realpathSync.native(Buffer.from(join(top, path), encoding), encoding)
  if (!isInside(real, top)) return undefined
  let handle = openSync(Buffer.from(top, encoding), FOLDER_ONLY)
  try {
    let at = top
    for (const name of relative(top, real).split('/').filter(Boolean)) {
      at = join(at, name)
      const way = process.platform === 'linux' ? `/proc/self/fd/${handle}/${name}` : at
      const next = openSync(Buffer.from(way, encoding), FOLDER_ONLY)
      closeSync(handle)
      handle = next
    }
    const base = process.platform === 'linux' ? `/proc/self/fd/${handle}` : real
    return { at: name => join(base, name), [Symbol.dispose]: () => closeSync(handle) }
  } catch (thrown) {
    closeSync(handle)
    throw thrown
  }
}

function makeFolderBelow(root: string, path: string): void {
  if (path === '.') return
  using parent = openFolderBelow(root, dirname(path), { make: true })
  try {
    if (parent) mkdirSync(parent.at(basename(path)))
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  }
}

async function closeFolder(folder: RealFolder | undefined): Promise<undefined> {
  await folder?.[Symbol.asyncDispose]()
}

/**
 * Removes a file, a link or a folder with all that is in it, whatever bytes its name has. Nothing behind a link is touched. False if the
 * path passes through a link or a missing folder: then nothing is removed.
 */
export async function removeInside(root: string, path: string): Promise<boolean> {
  await using parent = await openRealFolder(root, dirname(path))
  if (!parent) return false
  await removeEntries(parent, [basename(path)])
  return true
}

/** Opens only the place of an entry: for that nobody needs rights to read it, and a link is not followed. */
const PLACE_ONLY = 0o10000000 | constants.O_NOFOLLOW

/** Gives the owner of a file or folder more rights (`0o700`). Nothing behind a link is touched. False if it is gone, or somebody else's. */
export async function addOwnerRights(root: string, path: string, rights: number): Promise<boolean> {
  await using parent = await openRealFolder(root, dirname(path))
  if (!parent) return false
  const name = encodeNames(parent.at(basename(path)))
  try {
    if (process.platform !== 'linux') {
      const { mode } = await lstat(name)
      await lchmod(name, (mode & 0o7777) | rights)
      return true
    }
    await using entry = await open(name, PLACE_ONLY)
    const { mode } = await entry.stat()
    await chmod(`/proc/self/fd/${entry.fd}`, (mode & 0o7777) | rights)
    return true
  } catch {
    return false
  }
}

/** Says that files were changed now, whatever time they carry. A link is not followed; a path that passes through one is left out. */
export async function setTimesToNow(root: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await using parent = await openRealFolder(root, dirname(path))
    const now = new Date()
    if (parent) await lutimes(encodeNames(parent.at(basename(path))), now, now).catch(() => undefined) // it is gone
  }
}

/** How many entries are removed at once: more only fill the queue of the file system. */
const AT_ONCE = 64

async function removeEntries(parent: RealFolder, names: readonly string[]): Promise<void> {
  for (let first = 0; first < names.length; first += AT_ONCE) {
    const chunk = names.slice(first, first + AT_ONCE)
    const isFolder = await settleAll(chunk.map(name => unlinkUnlessFolder(parent.at(name))))
    for (const name of chunk.filter((_, index) => isFolder[index])) await removeFolder(parent, name)
  }
}

/**
 * Waits for all of them, also where one fails: the folder is closed after that, and its number is soon given to another one, in which the
 * rest would go on.
 */
async function settleAll<T>(works: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(works)
  return Promise.all(works)
}

async function unlinkUnlessFolder(path: string): Promise<boolean> {
  try {
    await unlink(encodeNames(path))
    return false
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    // What is not a folder either is refused by opening it; macOS says EPERM.
    if (code === 'EISDIR' || code === 'EPERM') return true
    throw thrown
  }
}

async function removeFolder(parent: RealFolder, name: string): Promise<void> {
  {
    await using folder = await openFolder(parent.at(name))
    if (folder) await removeEntries(folder, (await readdir(folder.at('.'), 'buffer')).map(decodeNames))
  }
  await rmdir(encodeNames(parent.at(name)))
}

/** A path below a folder. No link on the way is followed. */
export interface PathBelow {
  root: string
  path: string
}

export interface CopyOptions {
  signal?: AbortSignal | undefined
  /** Of `copyFile`: whether the file system shares the bytes. */
  mode?: number
  /** Left out, everything is copied; what is neither file, folder nor link cannot be. */
  isCopied?: (name: string, stats: Stats) => boolean
}

/**
 * Copies a file, a link or a folder with all that is in it to a path where nothing is. An agent may put a link in the place of any folder
 * meanwhile, on both sides: neither is something outside read, nor is something written there. Links are copied as they are. False if one of
 * the paths passes through a link.
 */
export async function copyInside(from: PathBelow, to: PathBelow, options: CopyOptions = {}): Promise<boolean> {
  await using source = await openRealFolder(from.root, dirname(from.path))
  await using target = await openRealFolder(to.root, dirname(to.path), { make: true })
  if (!source || !target) return false
  await copyEntry([source, basename(from.path)], [target, basename(to.path)], options)
  return true
}

type Entry = [folder: RealFolder, name: string]

async function copyEntry([source, name]: Entry, [target, newName]: Entry, options: CopyOptions): Promise<void> {
  const { signal, mode = 0, isCopied = () => true } = options
  signal?.throwIfAborted()
  const [from, to] = [source.at(name), target.at(newName)]
  const stats = await lstat(from)
  if (!isCopied(name, stats)) return
  if (stats.isSymbolicLink()) return symlink(await readlink(from), to)
  if (!stats.isDirectory()) return copyRegularFile(from, to, mode)
  await mkdir(to)
  await using folder = await openFolder(from)
  await using copy = await openFolder(to)
  if (!folder || !copy) throw new Error(`${name} was exchanged while it was copied`)
  const entries = await readdir(folder.at('.'), { withFileTypes: true })
  const next = ({ name: each }: Dirent) => copyEntry([folder, each], [copy, each], options)
  const files = entries.filter(entry => !entry.isDirectory())
  for (let first = 0; first < files.length; first += AT_ONCE)
    await settleAll(files.slice(first, first + AT_ONCE).map(next))
  // One at a time, so that no more folders are open than the tree is deep.
  for (const entry of entries.filter(each => each.isDirectory())) await next(entry)
  await chmod(copy.at('.'), stats.mode & 0o777)
}

async function copyRegularFile(from: string, to: string, mode: number): Promise<void> {
  await using file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const stats = await file.stat()
  if (!stats.isFile()) throw new Error(`${basename(from)} is no ordinary file`)
  const opened = process.platform === 'linux' ? `/proc/self/fd/${file.fd}` : from
  await copyFile(opened, to, mode | constants.COPYFILE_EXCL)
  await lutimes(to, stats.atime, stats.mtime)
}

/** Replaces a file. A link of that name is replaced too, and not followed. False if the path passes through a link. */
export async function writeInside(root: string, path: string, text: string): Promise<boolean> {
  await using parent = await openRealFolder(root, dirname(path))
  if (!parent) return false
  const file = parent.at(basename(path))
  await unlinkUnlessFolder(file)
  await writeFile(file, text, { flag: 'wx' })
  return true
}
