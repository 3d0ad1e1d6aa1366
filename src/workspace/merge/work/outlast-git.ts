import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { workingIn } from '../../../base/process/directory/working-in.ts'

const PATIENCE_MS = 10_000
const LOOK_MS = 50

/**
 * After a death: a git of ours may have outlived us and be at its end. Waits until none works in the directory any more, or for
 * as long as is reasonable, and removes locks that only ours can have taken and nobody holds now.
 */
export async function outlastGit(directory: string, locks: readonly string[]): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS && (await isGitIn(directory)); waited += LOOK_MS) await sleep(LOOK_MS)
  for (const lock of locks) if (existsSync(lock)) await rm(lock, { force: true })
}

async function isGitIn(directory: string): Promise<boolean> {
  const working = await workingIn(directory)
  return working?.some(({ command }) => /(^|\/)git( |$)/.test(command)) ?? false
}
