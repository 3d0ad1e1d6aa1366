import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import type { WorktreeRow } from '../../domain/worktree.ts'
import { findAdminFolder } from './worktree.ts'

/** A dependency folder as it was when it was set up: what was changed in it since is newer, or is not there. */
const NotedDependencies = z.object({
  /** From the top of the worktree. */
  folder: z.string(),
  /** The latest change time of anything in it, which nobody can set back. */
  latest: z.number(),
  /** One name for all paths in it. */
  names: z.string(),
  /** Whether it is a copy of the project's; else the set-up command made it. */
  copied: z.boolean(),
})
export type NotedDependencies = z.infer<typeof NotedDependencies>

/** What pcc has to remember of a worktree and what no agent may write. */
const WorktreeNote = z.object({
  /** The commit that was being looked at when it was written; null when nothing is. */
  looking: z.string().nullable().default(null),
  /** Files that commands of gates left behind. */
  files: z.array(z.object({ path: z.string(), size: z.number(), changed: z.number() })).default([]),
  dependencies: z.array(NotedDependencies).default([]),
  /** Files of the repository's shared folder as they were when the worktree was made; absent where nobody looked. */
  shared: z.record(z.string(), z.string().nullable()).optional(),
  /** Commits of the target that the work was made from, or put onto, by us; the first is the one it was made from. */
  bases: z.array(z.string()).default([]),
  /** Which part of the tree was checked out then; null for all of it. */
  sparse: z.string().nullable().default(null),
})
export type WorktreeNote = z.infer<typeof WorktreeNote>

/**
 * Beside the worktree: neither in it, where its agent works, nor in the shared folder of its repository, which an agent's git
 * writes to. Its name follows from the worktree's, so that whoever comes after a death finds it.
 */
export function noteFileOf(top: string): string {
  return join(dirname(top), `.${basename(top)}.pcc-note.json`)
}

/** What is noted of a worktree; nothing the first time, or where it is damaged: then what lies there counts as the agent's. */
export async function readNote(top: string): Promise<WorktreeNote> {
  try {
    return WorktreeNote.parse(JSON.parse(await readFile(noteFileOf(top), 'utf8')))
  } catch {
    return WorktreeNote.parse({})
  }
}

/** Notes something, and leaves the rest as it is. Two never write at once: a worktree has one user at a time. */
export async function writeNote(top: string, patch: Partial<WorktreeNote>): Promise<void> {
  const file = noteFileOf(top)
  const aside = `${file}.new`
  try {
    await writeFile(aside, JSON.stringify({ ...(await readNote(top)), ...patch }), { mode: 0o600 })
    await rename(aside, file)
  } catch {
    // A worktree that is going away.
  }
}

/** The worktree is gone, or is made anew. */
export async function forgetNote(top: string): Promise<void> {
  await rm(noteFileOf(top), { force: true })
}

/** More are not remembered one by one: a project that leaves so many has to ignore them. */
const MAX_FILES = 20_000

/**
 * Files that commands of gates left behind, from the top: they are neither the agent's work, to be committed, nor ours to
 * delete. One that was touched since is the agent's.
 */
export async function readGateMadeFiles(top: string): Promise<Set<string>> {
  const { files } = await readNote(top)
  const same = await Promise.all(
    files.map(async each => {
      const now = await stateOf(top, each.path)
      return now?.size === each.size && now.changed === each.changed
    }),
  )
  return new Set(files.filter((_, index) => same[index]).map(({ path }) => path))
}

/** Whether commands began to run on this commit and nobody knows what they left: we died in the middle. */
export async function wasInterruptedAt(top: string, commit: string): Promise<boolean> {
  return (await readNote(top)).looking === commit
}

/** Before the first command. */
export async function noteGatesStarted(top: string, commit: string): Promise<void> {
  await writeNote(top, { looking: commit })
}

/** After a command, with everything that lies there untracked; `isOver` after the last one. */
export async function noteGateMadeFiles(top: string, paths: readonly string[], isOver: boolean): Promise<void> {
  const files = await Promise.all(
    paths.slice(0, MAX_FILES).map(async path => {
      const state = await stateOf(top, path)
      return state ? [{ path, ...state }] : []
    }),
  )
  await writeNote(top, { files: files.flat(), ...(isOver && { looking: null }) })
}

async function stateOf(top: string, path: string): Promise<{ size: number; changed: number } | undefined> {
  const stats = await lstat(join(top, path)).catch(() => undefined)
  return stats && { size: stats.size, changed: Math.max(stats.mtimeMs, stats.ctimeMs) }
}

/** Files that all checkouts of a repository share, by which git sees other files, another history or another content. */
const SHARED_FILES = ['info/exclude', 'info/attributes', 'objects/info/alternates', 'shallow', './commondir']

/** Of what git keeps for this worktree alone: where the rest lies. */
const OWN_FILES = ['commondir']

/**
 * Notes what git is told in a worktree beside its tree, before an agent works there. An agent's git can write to the shared folder of
 * its repository; what was said there afterwards is nobody's word.
 */
export async function noteSharedFiles(
  row: Pick<WorktreeRow, 'top' | 'repository'>,
  bases: readonly string[],
): Promise<void> {
  const own = await findAdminFolder(row)
  if (own === undefined) return
  const sparse = await textOf(join(own, 'info', 'sparse-checkout'))
  await writeNote(row.top, { shared: await readSharedFiles(row.repository, own), sparse, bases: [...bases] })
}

/** What is in those files; null for one that is not there. */
export async function readSharedFiles(common: string, own: string): Promise<NonNullable<WorktreeNote['shared']>> {
  const files = [
    ...SHARED_FILES.map(name => [name, join(common, name)]),
    ...OWN_FILES.map(name => [name, join(own, name)]),
  ]
  const read = files.map(async ([name = '', file = '']) => [name, await textOf(file)] as const)
  return Object.fromEntries(await Promise.all(read))
}

/** The work is put onto these commits of its target, by us: from there on it is its own. */
export async function noteBases(top: string, commits: readonly string[]): Promise<void> {
  const { bases } = await readNote(top)
  if (bases.length === 0 || commits.every(commit => bases.includes(commit))) return
  await writeNote(top, { bases: [...new Set([...bases, ...commits])].slice(-MAX_BASES) })
}

/** A target that has moved so often since is one that nobody asks about any more. */
const MAX_BASES = 200

function textOf(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(() => null)
}
