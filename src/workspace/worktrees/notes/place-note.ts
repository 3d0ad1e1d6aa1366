import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'

/** A dependency folder as it was when it was set up: what was changed in it since is newer, or is not there. */
const Dependencies = z.object({
  /** From the top of the worktree. */
  folder: z.string(),
  /** The latest change time of anything in it, which nobody can set back. */
  latest: z.number(),
  /** One name for all paths in it. */
  names: z.string(),
  /** Whether it is a copy of the project's; else the set-up command made it. */
  copied: z.boolean(),
})
export type Dependencies = z.infer<typeof Dependencies>

/** What pcc has to remember of a worktree and what no agent may write. */
const PlaceNote = z.object({
  /** The commit that was being looked at when it was written; null when nothing is. */
  looking: z.string().nullable().default(null),
  /** Files that commands of gates left behind. */
  files: z.array(z.object({ path: z.string(), size: z.number(), changed: z.number() })).default([]),
  dependencies: z.array(Dependencies).default([]),
  /** Files of the repository's shared folder as they were when the worktree was made; absent where nobody looked. */
  shared: z.record(z.string(), z.string().nullable()).optional(),
  /** Commits of the target that the work was made from, or put onto, by us; the first is the one it was made from. */
  bases: z.array(z.string()).default([]),
  /** Which part of the tree was checked out then; null for all of it. */
  sparse: z.string().nullable().default(null),
})
export type PlaceNote = z.infer<typeof PlaceNote>

/**
 * Beside the worktree: neither in it, where its agent works, nor in the shared folder of its repository, which an agent's git
 * writes to. Its name follows from the worktree's, so that whoever comes after a death finds it.
 */
export function noteFileOf(top: string): string {
  return join(dirname(top), `.${basename(top)}.pcc-note.json`)
}

/** What is noted of a worktree; nothing the first time, or where it is damaged: then what lies there counts as the agent's. */
export async function readNote(top: string): Promise<PlaceNote> {
  try {
    return PlaceNote.parse(JSON.parse(await readFile(noteFileOf(top), 'utf8')))
  } catch {
    return PlaceNote.parse({})
  }
}

/** Notes something, and leaves the rest as it is. Two never write at once: a worktree has one user at a time. */
export async function writeNote(top: string, patch: Partial<PlaceNote>): Promise<void> {
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
