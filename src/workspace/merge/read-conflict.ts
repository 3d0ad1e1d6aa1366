import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { openRealFolder } from '../../base/real-folder.ts'
import type { Conflict, ConflictedFile } from '../../domain/merge.ts'
import { findGitOperation } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { askGitLine } from '../git/refs.ts'

/** How much of a conflict a conversation is shown: the agent can read the files themselves. */
const MAX_CONFLICT_FILES = 20
const MOST_OF_A_FILE = 4_000
const MOST_IN_ALL = 24_000
/** How much of a file is searched for markers. */
const MOST_BYTES = 2_000_000
const LINES_AROUND = 3

/** The conflict of the unfinished rebase or merge in a checkout; undefined if no file is unmerged. */
export async function readConflict(top: string): Promise<Conflict | undefined> {
  const open = await listUnmerged(top)
  if (open.size === 0) return undefined
  const kind = (await findGitOperation(top))?.kind === 'rebase' ? 'rebase' : 'merge'
  const commit =
    kind === 'rebase' ? ((await askGitLine(top, ['log', '-1', '--format=%s', 'REBASE_HEAD'])) ?? null) : null
  const files: ConflictedFile[] = []
  let left = MOST_IN_ALL
  for (const [path, stages] of [...open].slice(0, MAX_CONFLICT_FILES)) {
    const hunks = await readHunks(top, path, Math.min(MOST_OF_A_FILE, left))
    left -= hunks.length
    files.push({ path, what: describeStages(stages, kind), hunks })
  }
  return { kind, files, count: open.size, commit }
}

/** Unmerged paths, with the stages of the index in which each exists: 1 is the common ancestor, 2 and 3 are the two sides. */
export async function listUnmerged(top: string): Promise<Map<string, Set<number>>> {
  const { stdout } = await git(top, ['ls-files', '--unmerged', '-z'])
  const open = new Map<string, Set<number>>()
  for (const line of stdout.split('\0')) {
    const match = /^\d+ [0-9a-f]+ ([123])\t([\s\S]+)$/.exec(line)
    const [stage, path] = [Number(match?.[1]), match?.[2]]
    if (path !== undefined) open.set(path, (open.get(path) ?? new Set()).add(stage))
  }
  return open
}

/** In a rebase the second side is the target and the third the work; in a merge of the target it is the other way round. */
function describeStages(stages: ReadonlySet<number>, kind: Conflict['kind']): string {
  const [target, work] = kind === 'rebase' ? [2, 3] : [3, 2]
  if (stages.has(2) && stages.has(3)) return stages.has(1) ? 'changed on both sides' : 'added on both sides'
  if (stages.has(target)) return 'changed in the target, deleted or moved by this task'
  if (stages.has(work)) return 'changed by this task, deleted or moved in the target'
  return 'deleted or moved on both sides'
}

async function readHunks(top: string, path: string, most: number): Promise<string> {
  const lines = (await readBeginning(top, path))?.split('\n')
  if (!lines) return ''
  const shown = new Set<number>()
  let from: number | undefined
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('<<<<<<< ')) from = index
    if (from === undefined || !line.startsWith('>>>>>>> ')) continue
    for (let near = from - LINES_AROUND; near <= index + LINES_AROUND; near += 1) shown.add(near)
    from = undefined
  }
  let text = ''
  let last = -1
  for (const [index, line] of lines.entries()) {
    if (!shown.has(index)) continue
    const more = `${last >= 0 && index > last + 1 ? '…\n' : ''}${line}\n`
    if (text.length + more.length > most) return `${text}… (more in the file)\n`
    text += more
    last = index
  }
  return text
}

/**
 * Undefined for a file that is missing, a link, behind a link, or not text: the paths come from the agent's own index, and a folder of its
 * worktree may be a link that leads out.
 */
export async function readBeginning(top: string, path: string): Promise<string | undefined> {
  try {
    await using folder = await openRealFolder(top, dirname(path))
    if (!folder) return undefined
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    await using handle = await open(folder.at(basename(path)), flags)
    if (!(await handle.stat()).isFile()) return undefined
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0)
    const bytes = buffer.subarray(0, bytesRead)
    return bytes.includes(0) ? undefined : bytes.toString()
  } catch {
    return undefined
  }
}
