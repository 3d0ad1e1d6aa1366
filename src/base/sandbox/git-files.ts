import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, lstatSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readRegularFileNow } from '../files.ts'
import { runShortSync } from '../process/run-short.ts'
import { pathOutsideProjects } from '../search-path.ts'

// What git's own files say, read without git: it would have to be started for each, and obeys what an agent may have put there.

/** What the index says about files beside their contents. */
export interface IndexMarks {
  /** Files that are marked as unchanged, or as not checked out: git does not look at them. */
  unseen: string[]
  submodules: string[]
}

const ENTRY_BYTES = 62
const MODE_AT = 24
const FLAGS_AT = 60

/** Whether git takes a mode for that of a submodule. It looks at some bits only, and a forged index may have any others. */
export function isSubmodule(mode: number): boolean {
  return (mode & 0o170000) === 0o160000
}

/**
 * Parses version 2 with ids of 20 bytes and all entries in this file, which nearly every repository has. A later version may mark
 * files as not checked out or shorten names; an index that is split over two files has an extension called "link".
 */
export function parseIndexFile(file: Buffer, nameOf: (bytes: Buffer) => string): IndexMarks | undefined {
  if (file.length < 32 || file.toString('latin1', 0, 4) !== 'DIRC' || file.readUInt32BE(4) !== 2) return undefined
  const marks: IndexMarks = { unseen: [], submodules: [] }
  let at = 12
  for (let left = file.readUInt32BE(8); left > 0; left--) {
    if (at + ENTRY_BYTES > file.length) return undefined
    const flags = file.readUInt16BE(at + FLAGS_AT)
    const end = file.indexOf(0, at + ENTRY_BYTES)
    const length = flags & 0xfff
    // The length of a very long name is not in the flags, only its end is known; an index with ids of 32 bytes fails this check.
    if (end < 0 || (length < 0xfff && end - at - ENTRY_BYTES !== length)) return undefined
    const name = () => nameOf(file.subarray(at + ENTRY_BYTES, end))
    if (flags & 0x8000) marks.unseen.push(name())
    if (isSubmodule(file.readUInt32BE(at + MODE_AT))) marks.submodules.push(name())
    at += (end - at + 8) & ~7
  }
  return file.includes('link', at, 'latin1') ? undefined : marks
}

/** The commit that is checked out, from git's files; undefined where it is kept elsewhere. */
export function readHead({ own, common }: { own: string; common: string }): string | undefined {
  const text = readRegularFileNow(join(own, 'HEAD'))?.toString().trim() ?? ''
  const ref = /^ref: (refs\/\S+)$/.exec(text)?.[1]
  if (ref === undefined) return COMMIT.test(text) ? text : undefined
  const loose = readRegularFileNow(join(common, ref))?.toString().trim()
  if (loose !== undefined) return COMMIT.test(loose) ? loose : undefined
  const packed = readRegularFileNow(join(common, 'packed-refs'))?.toString() ?? ''
  return packed
    .split('\n')
    .find(line => line.endsWith(` ${ref}`))
    ?.split(' ')[0]
}

const COMMIT = /^[0-9a-f]{40,64}$/

/** What makes git show other objects, or another history, than what is there. */
export interface StandIns {
  /** Refs by which an object passes for another one, each as its line in the file of packed refs. */
  replaced: string[]
  /** Commits that have no parents for git. */
  shallow: string[]
  /** Whether there is the old file of other parents. */
  hasGrafts: boolean
}

/** An old form of replaced parents, which git still reads. */
export const GRAFTS = 'info/grafts'

/** Far more refs than any repository has. */
const MOST_BYTES = 512_000_000

export function readStandIns(common: string): StandIns {
  const folder = join(common, 'refs/replace')
  const loose = existsSync(folder) ? readdirSync(folder) : []
  const refs = loose.map(name => `${linesOf(join(folder, name))[0]} refs/replace/${name}`)
  const packed = linesOf(join(common, 'packed-refs'), ' refs/replace/')
  return {
    replaced: [...refs, ...packed.filter(isReplacement)],
    shallow: linesOf(join(common, 'shallow')),
    hasGrafts: existsSync(join(common, GRAFTS)),
  }
}

function linesOf(file: string, wanted = ''): string[] {
  const bytes = readRegularFileNow(file, MOST_BYTES, { follow: false })
  return bytes?.includes(wanted) ? bytes.toString('latin1').split('\n').filter(Boolean) : []
}

function isReplacement(line: string): boolean {
  return /^\S+\srefs\/replace\//.test(line)
}

/**
 * Takes away what an agent in the main checkout has made stand for something else since: what the person checks out, compares or reads in the
 * log would be the agent's. `refs/replace` and `info` are read-only there, but git writes beside the file of packed refs and that of shallow
 * commits.
 */
export function removeStandIns(
  { top, common }: { top: string; common: string },
  before: StandIns,
  log: (line: string) => void,
): void {
  const packed = join(common, 'packed-refs')
  const lines = linesOf(packed, 'refs/replace/')
  const isNew = (line: string | undefined) =>
    line !== undefined && isReplacement(line) && !before.replaced.includes(line)
  const added = lines.filter(isNew)
  if (added.length > 0) {
    // The line after a tag says which commit it names.
    const kept = lines.filter((line, at) => !isNew(line) && !(line.startsWith('^') && isNew(lines[at - 1])))
    rewrite(packed, kept)
    log(`objects that were made to pass for others do so no more (${listed(added)})`)
  }
  const shallow = join(common, 'shallow')
  const now = linesOf(shallow)
  const cut = now.filter(line => !before.shallow.includes(line))
  const hidden = cut.length === 0 ? [] : withParents(top, cut)
  if (hidden.length > 0) {
    const left = now.filter(line => !hidden.includes(line))
    if (left.length > 0) rewrite(shallow, left)
    else rmSync(shallow, { force: true })
    log(`commits that were made to have no parents have them again (${listed(hidden)})`)
  }
  const grafts = join(common, GRAFTS)
  if (before.hasGrafts || !lstatSync(grafts, { throwIfNoEntry: false })) return
  const aside = `${grafts}.pcc-set-aside-${randomUUID()}`
  renameSync(grafts, aside)
  log(`${grafts} gave commits other parents. It is in ${aside}: look at it`)
}

const MOST_LISTED = 5

function listed(lines: readonly string[]): string {
  return `${lines.slice(0, MOST_LISTED).join(', ')}${lines.length > MOST_LISTED ? ', …' : ''}`
}

/** As git does: with its lock, if nobody holds that. An agent may have left one behind. */
function rewrite(file: string, lines: readonly string[]): void {
  const lock = `${file}.lock`
  let isLocked = false
  try {
    closeSync(openSync(lock, 'wx'))
    isLocked = true
  } catch {
    // Whoever holds it has read what is taken away here, and would bring it back: the next end of an agent finds it again.
  }
  const next = isLocked ? lock : `${file}.pcc-${randomUUID()}`
  writeFileSync(next, Buffer.from(lines.map(line => `${line}\n`).join(''), 'latin1'), isLocked ? {} : { flag: 'wx' })
  renameSync(next, file)
}

const MOST_COMMITS = 100_000

/** Those of these commits whose parents are all there. A commit that was fetched without its history has none. */
function withParents(top: string, commits: readonly string[]): string[] {
  const asked = commits.filter(id => /^[0-9a-f]{40,64}$/i.test(id)).slice(0, MOST_COMMITS)
  // An empty name stands for no file of shallow commits.
  const list = ['--shallow-file', '', 'rev-list', '--parents', '--no-walk', '--ignore-missing', '--stdin']
  const found =
    ask(top, list, `${asked.join('\n')}\n`)
      ?.join('')
      .trim()
      .split('\n') ?? []
  const families = found.map(line => line.split(' '))
  const parents = families.flatMap(([, ...above]) => above)
  const looked =
    ask(top, ['cat-file', '--batch-check'], `${parents.join('\n')}\n`)
      ?.join('')
      .split('\n') ?? []
  const there = new Set(looked.flatMap(line => /^(\S+) commit /.exec(line)?.[1] ?? []))
  return families.flatMap(([commit = '', ...above]) =>
    above.length > 0 && above.every(id => there.has(id)) ? [commit] : [],
  )
}

/** What git prints, in parts and one letter a byte; undefined if it fails. */
export function ask(top: string, args: string[], input?: string): string[] | undefined {
  const settings = {
    'core.fsmonitor': 'false',
    'core.hooksPath': '/dev/null',
    'core.commitGraph': 'false',
    'log.showSignature': 'false',
  }
  const { code, stdout } = runShortSync(
    {
      command: 'git',
      args: ['--no-pager', ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]), ...args],
      cwd: top,
      env: {
        PATH: pathOutsideProjects(process.env['PATH'], [top]),
        // Without it git refuses settings that name a file of the home directory.
        HOME: homedir(),
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        // A missing object of a partial clone would be fetched by a program that the repository names.
        GIT_ALLOW_PROTOCOL: 'none',
        GIT_NO_LAZY_FETCH: '1',
        GIT_OPTIONAL_LOCKS: '0',
        GIT_NO_REPLACE_OBJECTS: '1',
        GIT_GRAFT_FILE: '/dev/null',
      },
      input,
      timeoutMs: 30_000,
      maxBytes: 512_000_000,
    },
    'latin1',
  )
  return code === 0 ? stdout.split('\0') : undefined
}
