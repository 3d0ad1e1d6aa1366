import { existsSync } from 'node:fs'
import type { MergeParts } from './parts.ts'
import { forgetVerified } from './work/verified-work.ts'

const DAY_MS = 24 * 60 * 60_000

/**
 * Forgets the first form of work that has long been in its target in another one. That of a task whose merge is not over stays,
 * since a repository in which something is under way is left alone. Gives how much.
 */
export async function forgetOldWork(
  { store, clock }: Pick<MergeParts, 'store' | 'clock'>,
  days: number,
  signal: AbortSignal,
): Promise<number> {
  const merged = new Set((await store.merges.list({ states: ['merged'] })).map(({ repository }) => repository))
  const busy = new Set((await store.merges.lanes()).map(({ repository }) => repository))
  const before = Math.floor((clock.now() - days * DAY_MS) / 1000)
  let count = 0
  for (const repository of merged) {
    if (signal.aborted) return count
    if (!busy.has(repository) && existsSync(repository)) count += await forgetVerified(repository, before)
  }
  return count
}
