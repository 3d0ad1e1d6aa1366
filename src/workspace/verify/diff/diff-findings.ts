import { lstat, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { encodeNames } from '../../../base/names.ts'
import type { Finding } from '../../../domain/evidence.ts'
import type { HashedObjects } from '../../git/check-objects.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { type DiffChange, type DiffFile, type DiffSettings, parseDiff } from './change.ts'
import { isSnapshot } from './file-kind.ts'
import { type JudgeDiff, judgeApart } from './judge-apart.ts'

export interface DiffRequest {
  /** Any directory in the worktree. */
  directory: string
  /** Commits or trees: the start of the work, and the work itself. */
  base: string
  head: string
  objects?: HashedObjects | undefined
  settings: DiffSettings
  /** The folder with what was moved away from beside the tree. */
  aside?: string | undefined
  /** Passed by callers that verify often: starting a judge takes some time. */
  judge?: JudgeDiff | undefined
  signal?: AbortSignal
}

/** What the rules find between two commits. A change that git cannot show is a finding too. */
export async function diffFindings({
  directory,
  base,
  head,
  objects,
  settings,
  aside,
  judge = judgeApart,
  signal,
}: DiffRequest): Promise<Finding[]> {
  const change = await readChange({ directory, base, head, objects, signal })
  if (change === undefined)
    return [{ code: 'diff.unread', weight: 'block', text: `git cannot show the changes between ${base} and ${head}.` }]
  if (change.files.length + change.unread.length === 0) return [EMPTY]
  return [...(await judge({ change, settings }, { signal })), ...(await untrackedFindings(change, aside))]
}

/** Files that the work takes out of the repository and leaves on the disk, where the agent and its own runs of the tests still see them. */
async function untrackedFindings({ files }: DiffChange, aside: string | undefined): Promise<Finding[]> {
  const found: Finding[] = []
  for (const { path, status } of aside === undefined ? [] : files) {
    if (found.length === MOST_NAMED) break
    if (status !== 'deleted' || !(await lstat(encodeNames(join(aside ?? '', path))).catch(() => undefined))) continue
    const text = `${path} is no longer part of the repository and git ignores it now, but it is still on the disk, where no gate sees it: commit it, or delete it.`
    found.push({ code: 'diff.ignored', weight: 'block', text, file: path })
  }
  return found
}

const MOST_NAMED = 10

const EMPTY: Finding = {
  code: 'diff.empty',
  weight: 'note',
  text: 'Nothing was changed: that the gates pass says nothing about the task.',
}

/** If a change has more files than this, the rest is not read one by one. */
const MOST_FILES = 3_000
/** How many files one call of git covers. */
const BATCH = 100
/** How much one call may print. A batch that prints more is split in half. */
const MOST_BYTES = 16_000_000
/** How many test files are read because their snapshot was changed. */
const MOST_NEIGHBOURS = 40

interface Asked {
  directory: string
  base: string
  head: string
  objects?: HashedObjects | undefined
  signal?: AbortSignal | undefined
}

/** The change between two commits, with the whole text of each file on both sides; undefined if git fails. */
export async function readChange(asked: Asked): Promise<DiffChange | undefined> {
  const { directory, base, head, objects, signal } = asked
  // Git searches from the real directory.
  const folder = await findGitFolder(await realpath(directory).catch(() => directory))
  if (!folder) return undefined
  const place = { ...asked, directory: folder.top }
  // Nearly every change fits into one call.
  const whole = await readWhole(place, [])
  if (whole && whole.length <= MOST_FILES)
    return { files: whole, unread: [], unchanged: await readNeighbours(place, whole) }
  const listed = await git(
    place.directory,
    ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--ignore-submodules=none', base, head, '--'],
    { signal, env: objects },
  )
  if (!listed.ok) return undefined
  const all = listed.stdout.split('\0').filter(path => path !== '')
  // A name that is not UTF-8 cannot be an argument.
  const paths = all.filter(path => path.isWellFormed())
  const files: DiffFile[] = []
  const unread = [...all.filter(path => !path.isWellFormed()), ...paths.slice(MOST_FILES)]
  for (let from = 0; from < Math.min(paths.length, MOST_FILES); from += BATCH) {
    const read = await readFiles(place, paths.slice(from, Math.min(from + BATCH, MOST_FILES)))
    files.push(...read.files)
    unread.push(...read.unread)
  }
  return { files, unread, unchanged: await readNeighbours(place, files) }
}

async function readFiles(asked: Asked, paths: string[]): Promise<{ files: DiffFile[]; unread: string[] }> {
  const whole = await readWhole(asked, paths)
  if (whole !== undefined) return { files: whole, unread: [] }
  if (paths.length > 1) {
    const middle = Math.ceil(paths.length / 2)
    const first = await readFiles(asked, paths.slice(0, middle))
    const second = await readFiles(asked, paths.slice(middle))
    return { files: [...first.files, ...second.files], unread: [...first.unread, ...second.unread] }
  }
  const parts = await diffOf(asked, paths, ['--unified=3'])
  return parts === undefined
    ? { files: [], unread: paths }
    : { files: parseDiff(parts, { isWhole: false }), unread: [] }
}

/** The whole of these files, or of all where none is named; undefined if that is too much. */
async function readWhole(asked: Asked, paths: string[]): Promise<DiffFile[] | undefined> {
  const text = await diffOf(asked, paths, ['--unified=10000000', '--text'])
  return text === undefined ? undefined : parseDiff(text).map(asBinary)
}

async function diffOf(
  { directory, base, head, objects, signal }: Asked,
  paths: string[],
  how: string[],
): Promise<string | undefined> {
  const fixed = ['--no-renames', '--no-color', '--no-ext-diff', '--no-textconv', '--full-index', '--src-prefix=a/']
  const args = ['diff', ...fixed, '--dst-prefix=b/', '--ignore-submodules=none', '--submodule=short', ...how]
  const result = await git(directory, [...args, base, head, '--', ...paths], {
    signal,
    maxBytes: MOST_BYTES,
    env: { GIT_LITERAL_PATHSPECS: '1', ...objects },
  })
  return result.ok ? result.stdout : undefined
}

/**
 * git is told to treat every file as text, since the attributes that mark binary files are in the tree and the agent writes them.
 * A file with a zero byte counts as binary all the same.
 */
function asBinary(file: DiffFile): DiffFile {
  if (!file.before?.includes('\0') && !file.after?.includes('\0')) return file
  const { before: _, after: __, ...rest } = file
  return { ...rest, kind: 'binary', added: [], removed: [] }
}

/** Unchanged tests whose recorded expectation was changed. */
async function readNeighbours(asked: Asked, files: DiffFile[]): Promise<Map<string, string>> {
  const changed = new Set(files.map(file => file.path))
  const wanted = files.filter(file => isSnapshot(file.path)).flatMap(file => testsOfSnapshot(file.path))
  const texts = new Map<string, string>()
  for (const path of [...new Set(wanted)].filter(each => !changed.has(each)).slice(0, MOST_NEIGHBOURS)) {
    const { signal, objects: env } = asked
    const read = await git(asked.directory, ['cat-file', 'blob', `${asked.head}:${path}`], {
      signal,
      env,
      maxBytes: 500_000,
    })
    if (read.ok) texts.set(path, read.stdout.replaceAll('\r\n', '\n'))
  }
  return texts
}

/** Where the tests of a recorded expectation may be, by the conventions of the runners. */
export function testsOfSnapshot(path: string): string[] {
  const parts = path.split('/')
  const name = parts.pop() ?? ''
  const folder = parts.at(-1)
  const above = parts.slice(0, -1).join('/')
  const inside = (where: string, file: string) => (where === '' ? file : `${where}/${file}`)
  const plain = name.replace(/\.(snap|snapshot|ambr|golden)$/, '')
  if (folder === '__snapshots__') return [inside(above, plain), inside(above, `${plain}.py`)]
  if (folder === 'snapshots') {
    // insta names a snapshot `crate__module__test.snap`, and keeps it beside the module.
    const module = plain.split('__').at(-2)
    return [inside(above, plain), ...(module === undefined ? [] : [inside(above, `${module}.rs`)])]
  }
  return []
}
