import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { LOCK_FILE } from '../../domain/package-managers.ts'
import type { Fence, FoundFile } from './fence.ts'

/** Larger files are not read: nobody reviews such a script, and most of them are not written by hand. */
export const MAX_FILE = 256 * 1024
/** Lock files are searched for names, never parsed as a script. */
const MAX_LOCK_FILE = 32 * 1024 * 1024
/** Folders with more files are not listed. */
const MAX_NAMES = 2_000

/** What is at a real path, if it is a small file or a small folder. Never waits for a pipe or a device, and never throws. */
export function lookAtPath(path: string, maxBytes = mostBytes(path)): FoundFile | undefined {
  try {
    const found = lstatSync(path)
    if (found.isDirectory()) return listFolder(path)
    if (!found.isFile() || found.size > maxBytes) return undefined
    using file = openReal(path)
    return readSmallFile(file.descriptor, maxBytes)
  } catch {
    return undefined // not there, or not for us to read: the caller knows no more than before
  }
}

/**
 * Whether what is at a real path is a small file, a large one, or none that `lookAtPath` would read. A folder counts as large, because
 * listing it takes long. Of a large program that no shell reads, the first bytes say enough.
 */
export function measurePath(path: string, smallBytes: number): 'small' | 'large' | 'none' | { head: Buffer } {
  try {
    const found = lstatSync(path)
    if (found.isDirectory()) return 'large'
    if (!found.isFile() || found.size > mostBytes(path)) return 'none'
    if (found.size <= smallBytes) return 'small'
    const head = readHead(path)
    return PROGRAM.test(head.toString('latin1')) ? { head } : 'large'
  } catch {
    return 'none' // not there, or not for us to read
  }
}

/** Whether nothing is at a path, or a plain file of this user that no other name leads to: no link, pipe, socket or folder. */
export function isPlainOrAbsent(path: string): boolean {
  try {
    const found = lstatSync(path)
    return found.isFile() && found.nlink === 1 && found.uid === process.getuid?.()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

/** Whether nothing is at a path, not even a link that leads nowhere. */
export function isAbsent(path: string): boolean {
  try {
    lstatSync(path)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** A program of the system, or a script for an interpreter that is no shell. */
const PROGRAM = /^(\x7fELF|#!\s*\S*\/(env\s+(-S\s*)?)?(node|python|ruby|perl|php|deno|bun|tsx)[\d.]*(\s|$))/

function mostBytes(path: string): number {
  return LOCK_FILE.test(basename(path)) ? MAX_LOCK_FILE : MAX_FILE
}

function readHead(path: string): Buffer {
  using file = openReal(path)
  const bytes = Buffer.alloc(256)
  return bytes.subarray(0, readSync(file.descriptor, bytes, 0, bytes.length, 0))
}

/**
 * Opens what a real path was found to be, and nothing else. A judged command may run beside another one that puts a link in its place: its
 * target, which the agent cannot read, would be quoted in the reason of a refusal. Throws if it has become something else.
 */
function openReal(path: string): { descriptor: number } & Disposable {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  const close = () => closeSync(descriptor)
  const real = process.platform === 'linux' ? readlinkSync(`/proc/self/fd/${descriptor}`) : realpathSync.native(path)
  if (real === path) return { descriptor, [Symbol.dispose]: close }
  close()
  throw new Error(`${path} leads elsewhere now`)
}

function readSmallFile(file: number, maxBytes: number): FoundFile | undefined {
  // The file may have become a pipe since it was measured.
  const found = fstatSync(file)
  if (!found.isFile()) return undefined
  const bytes = Buffer.alloc(Math.min(maxBytes, found.size) + 1)
  let length = 0
  for (let read = -1; read !== 0; length += read) read = readSync(file, bytes, length, bytes.length - length, null)
  // A full buffer means that it is too long, or grows while it is read.
  return length === bytes.length ? undefined : { is: 'file', bytes: bytes.subarray(0, length) }
}

/** What was read to judge a request: the hash of each file, by its path. A file that was not there has one too. */
export type ReadHashes = Record<string, string>

/** More files than any command runs; further ones are read and not remembered. */
const MAX_HASHES = 200

interface RememberedFiles {
  look: (path: string) => FoundFile | undefined
  realPath: Fence['realPath']
  hashes: ReadHashes
}

/** A way to look at files that remembers what was there, and by which links it was found: a link can be led elsewhere meanwhile. */
export function rememberFiles(look: RememberedFiles['look'], follow: Fence['realPath']): RememberedFiles {
  const hashes: ReadHashes = {}
  const ways = new Map<string, Set<string>>()
  return {
    hashes,
    realPath: path => {
      const real = follow(path)
      if (real !== undefined && real !== path) ways.set(real, (ways.get(real) ?? new Set()).add(path))
      return real
    },
    look: path => {
      // The hash comes first: if the file changes between the two, it counts as changed.
      for (const way of [path, ...(ways.get(path) ?? [])])
        if (!(way in hashes) && Object.keys(hashes).length < MAX_HASHES) hashes[way] = hashPath(way)
      return look(path)
    },
  }
}

/** Whether the hashes say nothing about some of the files: one is too large, or there are more than are remembered. */
export function isIncomplete(hashes: ReadHashes): boolean {
  return Object.keys(hashes).length >= MAX_HASHES || Object.values(hashes).includes('too large')
}

/** The files that are not what they were when they were judged. */
export function findChangedFiles(hashes: ReadHashes): string[] {
  return Object.keys(hashes).filter(path => hashPath(path) !== hashes[path])
}

/** Folders and files that are too large to be judged count by their name alone. Follows links, because the way to a file counts too. */
export function hashPath(path: string): string {
  let descriptor: number | undefined
  try {
    const found = statSync(path)
    if (!found.isFile()) return 'no file'
    if (found.size > MAX_FILE) return 'too large'
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const file = readSmallFile(descriptor, MAX_FILE)
    return file?.is === 'file' ? createHash('sha256').update(file.bytes).digest('hex') : 'too large'
  } catch {
    return 'absent' // not there, or not for us to read
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function listFolder(top: string): FoundFile | undefined {
  const names: string[] = []
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    using opened = openReal(join(top, folder))
    const there = process.platform === 'linux' ? `/proc/self/fd/${opened.descriptor}` : join(top, folder)
    for (const entry of readdirSync(there, { withFileTypes: true })) {
      const name = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(name)
      names.push(name)
      if (names.length > MAX_NAMES) return undefined
    }
  }
  return { is: 'folder', names }
}
