import { lstat, open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { readTextIfAny } from '../../base/files.ts'
import { INSTALLED } from '../../domain/package-managers.ts'
import type { WorktreeRow } from '../../domain/worktree.ts'
import { findAdminFolder } from './worktree.ts'

/** The state of a dependency folder after its set-up: a file that was changed since is newer, or is missing. */
const NotedDependencies = z.object({
  /** Relative to the top of the worktree. */
  folder: z.string(),
  /** The latest change time of anything in it, which nobody can set back. */
  latest: z.number(),
  /** A hash of all paths in it. */
  names: z.string(),
  /** Whether it is a copy of the project's folder; otherwise the set-up command made it. */
  copied: z.boolean(),
  /** Set for the folder of a submodule that the set-up command filled. */
  isSubmodule: z.literal(true).optional(),
  /** The session that may have changed what was copied: it worked in the project itself at that time. */
  doubt: z.string().optional(),
})
export type NotedDependencies = z.infer<typeof NotedDependencies>

/** A file or folder of a slot that git does not track, as it was after the set-up. */
const NotedWarmFile = NotedDependencies.extend({
  /** The latest change time of anything in it, private data of tools included. */
  all: z.number(),
  /** For a copy, the state of the project's folder from which it was made. */
  source: z.string().nullable(),
})
export type NotedWarmFile = z.infer<typeof NotedWarmFile>

/** A rebase or merge of ours that stopped at a conflict, with everything that is needed to go on without git's own notes. */
const NotedReplay = z.object({
  kind: z.enum(['rebase', 'merge']),
  /** The verified work that is put onto the target, and the commit after which its own commits begin. */
  head: z.string(),
  base: z.string(),
  /** The commit on which the resolution goes: the target with the commits that were applied so far. */
  tip: z.string(),
  /** The commit of the work that conflicts; null for a merge. */
  stopped: z.string().nullable(),
  /** The commit of the resolution, from when it exists until the rest is applied: after a death pcc goes on from it. */
  resolved: z.string().nullable().default(null),
  /** The message of the merge commit that the resolution becomes. A rebase has none, and notes of earlier versions too. */
  message: z.string().optional(),
})
export type NotedReplay = z.infer<typeof NotedReplay>

/** What pcc has to remember of a worktree, and no agent may write. */
const WorktreeNote = z.object({
  /** The commit that gates are running on; null if none are. */
  looking: z.string().nullable().default(null),
  /** Files that gate commands left behind. */
  files: z.array(z.object({ path: z.string(), size: z.number(), changed: z.number() })).default([]),
  dependencies: z.array(NotedDependencies).default([]),
  /** What was set up in a slot, from which commit, and by which command; null if nothing of it may stay for the next task. */
  warm: z
    .object({ base: z.string(), setup: z.string().nullable(), entries: z.array(NotedWarmFile) })
    .nullable()
    .default(null),
  /** When the set-up was over: what is beside the tree and was changed later is the agent's, unless gates ran at that time. */
  ready: z.number().nullable().default(null),
  /** When gates ran, or the set-up once more: from and to. */
  gated: z.array(z.tuple([z.number(), z.number()])).default([]),
  /** Files of the repository's shared folder as they were when the worktree was made; absent if they were not read. */
  shared: z.record(z.string(), z.string().nullable()).optional(),
  /** Commits of the target that pcc made the work from, or put it onto; the first is the one that it was made from. */
  bases: z.array(z.string()).default([]),
  /** The sparse-checkout patterns at that time; null if everything was checked out. */
  sparse: z.string().nullable().default(null),
  /** The unfinished rebase or merge that pcc began; null if there is none. */
  replay: NotedReplay.nullable().default(null),
})
export type WorktreeNote = z.infer<typeof WorktreeNote>

/**
 * The note is beside the worktree: neither in it, where the agent works, nor in the shared folder of its repository, to which the
 * agent's git writes. Its name follows from the worktree's, so that it is found after a crash.
 */
export function noteFileOf(top: string): string {
  return join(dirname(top), `.${basename(top)}.pcc-note.json`)
}

/** The note of a worktree; empty if there is none or it is damaged: then all files count as the agent's. */
export async function readNote(top: string): Promise<WorktreeNote> {
  try {
    return WorktreeNote.parse(JSON.parse(await readFile(noteFileOf(top), 'utf8')))
  } catch {
    return WorktreeNote.parse({})
  }
}

/** Changes some fields of the note. Two processes never write at once: a worktree has one user at a time. */
export async function writeNote(top: string, patch: Partial<WorktreeNote>): Promise<void> {
  const file = noteFileOf(top)
  try {
    await replaceBeside(file, JSON.stringify({ ...(await readNote(top)), ...patch }))
  } catch {
    // The worktree is being removed.
  }
}

/**
 * Writes a file beside a worktree, whole or not at all. Where the folder of worktrees is in a project, code of that project may have put a link
 * there: nothing is written through it.
 */
export async function replaceBeside(file: string, content: string | Buffer, times?: number): Promise<void> {
  const aside = `${file}.new`
  await rm(aside, { force: true })
  {
    await using opened = await open(aside, 'wx', 0o600)
    await opened.writeFile(content)
    if (times !== undefined) await opened.utimes(times, times)
  }
  await rename(aside, file)
}

/** Called when the noted rebase or merge is over, whatever became of it. */
export async function forgetReplay(top: string): Promise<void> {
  if ((await readNote(top)).replay) await writeNote(top, { replay: null })
}

/** Notes that commands of pcc, and not the agent, were at work from a time until now, which it returns. */
export async function noteGated(top: string, began: number): Promise<number> {
  const now = Date.now()
  const { gated } = await readNote(top)
  await writeNote(top, { gated: [...gated, [began, now] satisfies [number, number]].slice(-MOST_ROUNDS) })
  return now
}

const MOST_ROUNDS = 100

/** Where files of the worktree are that were moved away while gates run. */
export function asideOf(top: string): string {
  return join(dirname(top), `.${basename(top)}.pcc-aside`)
}

/** Where it says what was beside the tree when the set-up was over. It is no part of the note, which is read often: build output may be many files. */
function besideFileOf(top: string): string {
  return join(dirname(top), `.${basename(top)}.pcc-beside`)
}

/** An entry beside the tree, by which it is known again: moving a folder changes the path of all that is in it, but no inode. */
export function besideKey(path: string, inode: number): string {
  return `${inode} ${path}`
}

/** Notes what the set-up has left in a worktree that git does not track. */
export async function noteBeside(top: string, keys: readonly string[]): Promise<void> {
  await replaceBeside(besideFileOf(top), keys.join('\0')).catch(() => undefined) // as with the note, the worktree may be being removed
}

/** A file, a link or an empty folder that git does not track. The times are those of `DependencyEntry`. */
export interface Beside {
  /** From the top. */
  path: string
  changed: number
  placed: number
  inode: number
}

/**
 * Tells what is beside the tree neither as the set-up left it nor by gates that passed. Change times, which nobody can set back, tell what was
 * written; but moving a folder changes none in it, and git stops tracking a file without touching it.
 */
export async function openLate(top: string, { ready, gated }: WorktreeNote): Promise<(entry: Beside) => boolean> {
  const text = await readFile(besideFileOf(top), 'utf8').catch(() => undefined)
  const left = new Set(text?.split('\0'))
  return ({ path, changed, placed, inode }) => {
    // A worktree of an earlier version has no list.
    if (changed <= (ready ?? 0)) return text !== undefined && !left.has(besideKey(path, inode))
    const isByGate = gated.some(([from, to]) => changed > from && changed <= to && placed <= to)
    return !isByGate || path.split('/').some(name => INSTALLED.has(name))
  }
}

/** Called when the worktree is gone, or is made again. */
export async function forgetNote(top: string): Promise<void> {
  await rm(asideOf(top), { recursive: true, force: true })
  await rm(besideFileOf(top), { force: true })
  await rm(noteFileOf(top), { force: true })
}

/** More files are not noted: a project whose commands leave so many has to ignore them. */
const MAX_FILES = 20_000

/**
 * Files that gate commands left behind, as paths from the top: they are neither the agent's work, to be committed, nor ours to
 * delete. A file that was touched since counts as the agent's.
 */
export async function readGateMadeFiles(top: string): Promise<Set<string>> {
  const { files } = await readNote(top)
  const unchanged = await Promise.all(
    files.map(async file => {
      const now = await readFileState(top, file.path)
      return now?.size === file.size && now.changed === file.changed
    }),
  )
  return new Set(files.filter((_, index) => unchanged[index]).map(({ path }) => path))
}

/** The commit on which gate commands ran when the daemon died, so that it is unknown what they left; null if none ran. */
export async function readInterruptedCommit(top: string): Promise<string | null> {
  return (await readNote(top)).looking
}

/** Called before the first gate command. */
export async function noteGatesStarted(top: string, commit: string): Promise<void> {
  await writeNote(top, { looking: commit })
}

/** Called after a gate command, with all untracked files; `isOver` after the last one. */
export async function noteGateMadeFiles(top: string, paths: readonly string[], isOver: boolean): Promise<void> {
  const files = await Promise.all(
    paths.slice(0, MAX_FILES).map(async path => {
      const state = await readFileState(top, path)
      return state ? [{ path, ...state }] : []
    }),
  )
  await writeNote(top, { files: files.flat(), ...(isOver && { looking: null }) })
}

async function readFileState(top: string, path: string): Promise<{ size: number; changed: number } | undefined> {
  const stats = await lstat(join(top, path)).catch(() => undefined)
  return stats && { size: stats.size, changed: stats.ctimeMs }
}

/** Files that all checkouts of a repository share, and that make git see other files, another history or other content. */
const SHARED_FILES = ['info/exclude', 'info/attributes', 'objects/info/alternates', 'shallow', './commondir']

/** Files that git keeps for this worktree alone: `commondir` says where the shared folder is. */
const OWN_FILES = ['commondir']

/**
 * Notes the settings outside the tree that git obeys in a worktree, before an agent works there. An agent's git can write to the
 * shared folder of its repository, so that later changes there cannot be trusted.
 */
export async function noteSharedFiles(
  row: Pick<WorktreeRow, 'top' | 'repository'>,
  bases: readonly string[],
): Promise<void> {
  const own = await findAdminFolder(row)
  if (own === undefined) return
  const sparse = await readText(join(own, 'info', 'sparse-checkout'))
  await writeNote(row.top, { shared: await readSharedFiles(row.repository, own), sparse, bases: [...bases] })
}

/** The content of those files; null for a missing one. */
export async function readSharedFiles(common: string, own: string): Promise<NonNullable<WorktreeNote['shared']>> {
  const files = [
    ...SHARED_FILES.map(name => [name, join(common, name)]),
    ...OWN_FILES.map(name => [name, join(own, name)]),
  ]
  const read = files.map(async ([name = '', file = '']) => [name, await readText(file)] as const)
  return Object.fromEntries(await Promise.all(read))
}

/** Notes the commits of the target that pcc puts the work onto: the commits after them are the task's own. */
export async function noteBases(top: string, commits: readonly string[]): Promise<void> {
  const { bases } = await readNote(top)
  if (bases.length === 0 || commits.every(commit => bases.includes(commit))) return
  await writeNote(top, { bases: [...new Set([...bases, ...commits])].slice(-MAX_BASES) })
}

/** How many bases are remembered: older ones no longer matter. */
const MAX_BASES = 200

async function readText(file: string): Promise<string | null> {
  try {
    return (await readTextIfAny(file)) ?? null
  } catch {
    return 'no ordinary file' // this counts as a change, too
  }
}
