import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf } from '../../base/errors.ts'

/** How a project is looked at. Nothing is ever written, and nothing is read without a bound. */
export interface Reader {
  /** The text of a file; `problem` says why there is none although the file is there. */
  read(path: string): Promise<ReadText>
  /** Names in a folder, sorted; none where it cannot be entered. */
  list(path: string): Promise<Entry[]>
}

export type ReadText = { text: string } | { problem: string } | undefined

export interface Entry {
  name: string
  /** Links are followed by nobody: one to a folder could lead anywhere, or round in a circle. */
  kind: 'file' | 'folder' | 'other'
}

/** A manifest that a person wrote is a few thousand bytes; the largest package.json files of the wild are below one million. */
const MOST_BYTES = 2_000_000

/** A pipe under the name of a manifest would otherwise keep us waiting for whoever writes into it. */
const AT_ONCE = constants.O_RDONLY | constants.O_NONBLOCK

/** Reads below one directory; an absolute path is taken as it is. */
export function readerOf(root: string, mostBytes = MOST_BYTES): Reader {
  return {
    async read(path) {
      try {
        await using file = await open(resolve(root, path), AT_ONCE)
        const { size, isFile } = await file.stat().then(stat => ({ size: stat.size, isFile: stat.isFile() }))
        if (!isFile) return { problem: 'it is not a plain file' }
        if (size > mostBytes) return { problem: `it is larger than ${mostBytes / 1_000_000} MB, and was not read` }
        const bytes = Buffer.alloc(size)
        const { bytesRead } = await file.read(bytes, 0, size, 0)
        return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytesRead)) }
      } catch (thrown) {
        const { code } = thrown as NodeJS.ErrnoException
        if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
        return { problem: thrown instanceof TypeError ? 'it is not text in UTF-8' : messageOf(thrown) }
      }
    },
    async list(path) {
      const entries = await readdir(resolve(root, path), { withFileTypes: true }).catch(() => [])
      return entries
        .map(entry => ({ name: entry.name, kind: kindOf(entry) }))
        .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    },
  }
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): Entry['kind'] {
  if (entry.isDirectory()) return 'folder'
  // A link may be a manifest that several folders share; reading says when it is not a file.
  return entry.isFile() || entry.isSymbolicLink() ? 'file' : 'other'
}
