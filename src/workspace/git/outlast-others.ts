import { setTimeout as sleep } from 'node:timers/promises'

/** What another git does in the same repository is over in milliseconds as a rule; a lock that stands longer is not waited for here. */
const PAUSES_MS = [10, 30, 100, 300, 1000]

/**
 * Calls git again for as long as it fails only because another one, a person's or another daemon's, is at work in the same
 * repository. `undo` takes back what a call has left that failed on its way.
 */
export async function outlastOthers<Result extends { ok: boolean; stderr: string }>(
  call: () => Promise<Result>,
  { signal, undo }: { signal?: AbortSignal | undefined; undo?: () => Promise<void> } = {},
): Promise<Result> {
  for (const pauseMs of PAUSES_MS) {
    const result = await call()
    if (result.ok || !isOthersDoing(result.stderr) || signal?.aborted) return result
    await undo?.()
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined) // called off: the call says so
  }
  return call()
}

/** Whether git's words tell of another git in the same moment: nothing is wrong with the repository then, and it passes. */
export function isOthersDoing(stderr: string): boolean {
  return OTHERS.some(words => words.test(stderr))
}

const OTHERS = [
  // The last worktree was removed, and its folder with it, while one was added.
  /\bworktrees\/.*: No such file or directory/,
  // One was just being added: its files are there and empty yet.
  /failed to read \S*\bworktrees\/.*(commondir|gitdir|HEAD)/,
  // A ref, the index or the settings are being written, or the folder of a ref has just been taken away.
  /\.lock'?: (File exists|No such file or directory)/,
  /could not lock config file .*: (File exists|No such file or directory)/,
]
