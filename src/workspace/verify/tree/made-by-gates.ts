import { lstat, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import type { GitFolder } from '../../git/git-folder.ts'

/**
 * Files that commands of gates left behind, in the git folder of their worktree: they are neither the agent's work, to be
 * committed, nor ours to delete. One that was touched since is the agent's.
 */
const Made = z.object({
  /** The commit that was being looked at when it was written; null when nothing is. */
  looking: z.string().nullable(),
  files: z.array(z.object({ path: z.string(), size: z.number(), changed: z.number() })),
})
type Made = z.infer<typeof Made>

const NOTHING: Made = { looking: null, files: [] }
/** More are not remembered one by one: a project that leaves so many has to ignore them. */
const MOST = 20_000

/** Paths, from the top, of those that are as a gate left them. */
export async function madeByGates(folder: GitFolder): Promise<Set<string>> {
  const { files } = await read(folder)
  const same = await Promise.all(
    files.map(async each => {
      const now = await stateOf(folder, each.path)
      return now?.size === each.size && now.changed === each.changed
    }),
  )
  return new Set(files.filter((_, index) => same[index]).map(({ path }) => path))
}

/** Whether commands began to run on this commit and nobody knows what they left: we died in the middle. */
export async function wasLookingAt(folder: GitFolder, commit: string): Promise<boolean> {
  return (await read(folder)).looking === commit
}

/** Before the first command. */
export async function beginLooking(folder: GitFolder, commit: string): Promise<void> {
  await write(folder, { ...(await read(folder)), looking: commit })
}

/** After a command, with everything that lies there untracked; `isOver` after the last one. */
export async function noteMade(folder: GitFolder, paths: readonly string[], isOver: boolean): Promise<void> {
  const { looking } = await read(folder)
  const files = await Promise.all(
    paths.slice(0, MOST).map(async path => {
      const state = await stateOf(folder, path)
      return state ? [{ path, ...state }] : []
    }),
  )
  await write(folder, { looking: isOver ? null : looking, files: files.flat() })
}

async function stateOf({ top }: GitFolder, path: string): Promise<{ size: number; changed: number } | undefined> {
  const stats = await lstat(join(top, path)).catch(() => undefined)
  return stats && { size: stats.size, changed: Math.max(stats.mtimeMs, stats.ctimeMs) }
}

async function read({ own }: GitFolder): Promise<Made> {
  const text = await readFile(fileIn(own), 'utf8').catch(() => '')
  try {
    return Made.parse(JSON.parse(text))
  } catch {
    return NOTHING // the first time, or damaged: then what lies there counts as the agent's
  }
}

async function write({ own }: GitFolder, made: Made): Promise<void> {
  await writeFile(fileIn(own), JSON.stringify(made)).catch(() => undefined) // a worktree that is going away
}

function fileIn(own: string): string {
  return join(own, 'pcc-gates.json')
}
