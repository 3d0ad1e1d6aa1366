import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { readNote, writeNote } from './place-note.ts'

/** More are not remembered one by one: a project that leaves so many has to ignore them. */
const MOST = 20_000

/**
 * Files that commands of gates left behind, from the top: they are neither the agent's work, to be committed, nor ours to
 * delete. One that was touched since is the agent's.
 */
export async function madeByGates(top: string): Promise<Set<string>> {
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
export async function wasLookingAt(top: string, commit: string): Promise<boolean> {
  return (await readNote(top)).looking === commit
}

/** Before the first command. */
export async function beginLooking(top: string, commit: string): Promise<void> {
  await writeNote(top, { looking: commit })
}

/** After a command, with everything that lies there untracked; `isOver` after the last one. */
export async function noteMade(top: string, paths: readonly string[], isOver: boolean): Promise<void> {
  const files = await Promise.all(
    paths.slice(0, MOST).map(async path => {
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
