import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { SandboxNeeds } from '../../domain/agents/sandbox.ts'

/**
 * Where an agent keeps its login and conversations, and what of that it may not write: what it would do or run the next time, with nothing
 * around it. What is not there is made, empty, or it could be put there.
 */
export function ownState(needs: SandboxNeeds, inHome: (path: string) => string): { state: string[]; kept: string[] } {
  const state = needs.state.map(inHome)
  for (const path of state) mkdirSync(path, { recursive: true, mode: 0o700 })
  const kept = Object.entries(needs.kept ?? {}).map(([name, empty]) => ({ path: inHome(name), empty }))
  for (const { path, empty } of kept) {
    // What it leads to can be held; the link itself cannot.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw new AppError('sandbox_link', { path })
    if (existsSync(path)) continue
    mkdirSync(empty === null ? path : dirname(path), { recursive: true, mode: 0o700 })
    if (empty !== null) writeFileSync(path, empty, { mode: 0o600 })
  }
  return { state, kept: kept.map(({ path }) => path) }
}
