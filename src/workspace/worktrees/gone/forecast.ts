import { existsSync } from 'node:fs'
import type { Worktree } from '../../../domain/workspace/place.ts'
import type { WorktreeForecast } from '../../../domain/workspace/worktree-view.ts'
import { git } from '../../git/git.ts'
import { hindranceOf, whyKeep } from '../remove-row.ts'
import { leftoversOf } from './leftovers.ts'

/** What would become of it now, and why; nothing is changed. */
export async function forecastOf(row: Worktree): Promise<WorktreeForecast> {
  const dirty = await git(row.project, ['status', '--porcelain', '--untracked-files=no'], { timeoutMs: 20_000 })
  return { ...(await fateOf(row)), project_is_dirty: dirty.stdout !== '' }
}

async function fateOf(row: Worktree): Promise<Pick<WorktreeForecast, 'kind' | 'why'>> {
  if (!existsSync(row.repository)) return { kind: 'kept', why: `its repository ${row.repository} is gone` }
  if (!existsSync(row.top)) return { kind: 'archived', why: 'its directory was deleted by hand' }
  const left = await leftoversOf(row)
  const hindrance = await hindranceOf(row, left)
  if (hindrance !== undefined || !left) return { kind: 'kept', why: hindrance ?? 'git cannot tell what is in it' }
  const why = (await whyKeep(row, left)) ?? null
  return { kind: why === null ? 'removed' : 'archived', why }
}
