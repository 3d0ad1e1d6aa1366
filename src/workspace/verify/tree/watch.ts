import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import { findGitFolder } from '../../git/git-folder.ts'
import { beginLooking, madeByGates, noteMade, wasLookingAt } from '../../worktrees/notes/made-by-gates.ts'
import { type Disturbance, openKeeper } from './keeper.ts'
import type { Subject } from './subject.ts'

/** Looks after a tree from the first command to the last. */
export interface Watch {
  /** After a command: what it changed is put back, what it made is remembered; both are told. */
  after(gate: string): Promise<Disturbance>
  /** After the last one. */
  end(): Promise<void>
}

/** Begins to look after what is looked at; undefined where it has no name. */
export async function openWatch(
  { folder, tree, commit }: Subject,
  place: Place | undefined,
): Promise<Watch | undefined> {
  if (!folder || tree === null) return undefined
  const head = place && commit !== null ? { commit, branch: place.branch } : undefined
  const ref = `refs/pcc/kept/${place?.task ?? 'in-place'}`
  const keeper = await openKeeper({ folder, tree, head, ref })
  const known = place ? await madeByGates(folder.top) : new Set<string>()
  if (commit !== null) await beginLooking(folder.top, commit)
  let all: string[] | undefined
  return {
    async after(gate) {
      const found = await keeper(gate)
      const made = found.made.filter(path => !known.has(path))
      for (const path of made) known.add(path)
      all = found.made
      if (commit !== null && !found.isLost) await noteMade(folder.top, all, false)
      return { ...found, made }
    },
    async end() {
      if (commit !== null) await noteMade(folder.top, all ?? [...known], true)
    },
  }
}

/**
 * Puts a place back where we died while a command ran in it: what was changed since is the command's doing and not the
 * agent's, who has not had another turn.
 */
export async function afterDeath(place: Place): Promise<void> {
  const folder = await findGitFolder(place.top)
  if (folder?.top !== place.top) return
  const named = await git(place.top, [
    'rev-parse',
    `refs/heads/${place.branch}^{commit}`,
    `refs/heads/${place.branch}^{tree}`,
  ])
  const [commit = '', tree = ''] = named.stdout.trim().split('\n')
  if (!named.ok || !(await wasLookingAt(folder.top, commit))) return
  const watch = await openWatch({ folder, tree, commit }, place)
  await watch?.after('a check that was interrupted')
  await watch?.end()
}
