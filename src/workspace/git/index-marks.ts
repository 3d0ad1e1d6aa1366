import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from './git.ts'

/** What the index says of files beside their contents. */
export interface IndexMarks {
  /** Marked as unchanged, or as not checked out: git does not look at them. */
  unseen: string[]
  submodules: string[]
}

/** Reads the marks from the index file itself where it has the plain form, else asks git. Undefined where nobody can tell. */
export async function indexMarks(top: string, own: string | undefined): Promise<IndexMarks | undefined> {
  const file = own === undefined ? undefined : await readFile(join(own, 'index')).catch(() => undefined)
  return (file && readPlain(file)) ?? askGit(top)
}

const ENTRY_BYTES = 62
const MODE_AT = 24
const FLAGS_AT = 60
const SUBMODULE = 0o160000

/**
 * Version 2, ids of 20 bytes, all entries in this file: what nearly every repository has. A later version may mark files as not
 * checked out or shorten names; a file that leaves the rest to another one says so in a part called "link".
 */
function readPlain(file: Buffer): IndexMarks | undefined {
  if (file.length < 32 || file.toString('latin1', 0, 4) !== 'DIRC' || file.readUInt32BE(4) !== 2) return undefined
  const marks: IndexMarks = { unseen: [], submodules: [] }
  let at = 12
  for (let left = file.readUInt32BE(8); left > 0; left--) {
    if (at + ENTRY_BYTES > file.length) return undefined
    const flags = file.readUInt16BE(at + FLAGS_AT)
    const end = file.indexOf(0, at + ENTRY_BYTES)
    const length = flags & 0xfff
    // Of a name that is longer than the flags can say nothing is known but its end; ids of 32 bytes fit nothing of this.
    if (end < 0 || (length < 0xfff && end - at - ENTRY_BYTES !== length)) return undefined
    const name = () => file.toString('utf8', at + ENTRY_BYTES, end)
    if (flags & 0x8000) marks.unseen.push(name())
    if (file.readUInt32BE(at + MODE_AT) === SUBMODULE) marks.submodules.push(name())
    at += (end - at + 8) & ~7
  }
  return file.includes('link', at, 'latin1') ? undefined : marks
}

/** `H 100644 <oid> 0\t<path>`; a small letter stands for a file that is marked as unchanged, S for one that is not checked out. */
async function askGit(top: string): Promise<IndexMarks | undefined> {
  const { ok, stdout } = await git(top, ['ls-files', '-z', '-v', '-s'])
  if (!ok) return undefined
  const entries = stdout.split('\0').flatMap(line => {
    const [, tag = '', mode = '', path = ''] = /^(.) (\d+) [^\t]+\t([\s\S]+)$/.exec(line) ?? []
    return path === '' ? [] : [{ tag, mode, path }]
  })
  return {
    unseen: entries.filter(({ tag }) => tag === 'S' || tag === tag.toLowerCase()).map(({ path }) => path),
    submodules: entries.filter(({ mode }) => mode === '160000').map(({ path }) => path),
  }
}
