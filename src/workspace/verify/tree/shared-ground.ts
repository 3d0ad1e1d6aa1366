import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { Place } from '../../../domain/workspace/place.ts'
import { git } from '../../git/git.ts'
import type { GitFolder } from '../../git/git-folder.ts'
import { readNote } from '../../worktrees/notes/place-note.ts'
import { sharedIn } from '../../worktrees/notes/shared-files.ts'

/**
 * What was done to a repository beside the work in one of its worktrees, and would have git show something else than there is. An
 * agent cannot be told to mend it, and its person may have done it: they have to look.
 */
export async function sharedGround(place: Place, folder: GitFolder): Promise<Finding[]> {
  const { shared, bases } = await readNote(place.top)
  const findings: Finding[] = []
  const now = shared ? await sharedIn(folder.common, folder.own) : {}
  for (const [name, before] of Object.entries(shared ?? {})) {
    // What that file hides is looked at file by file.
    if (name === 'info/exclude' || now[name] === before) continue
    findings.push(found('git.shared', `${name} of ${folder.common} was changed since the work began. ${OR_ALLOW}`))
  }
  const isKnown = bases.length === 0 || bases.includes(place.base) || (await isTakenBack(place, bases[0] ?? ''))
  if (!isKnown) findings.push(found('git.target', targetWords(place, bases[0] ?? '')))
  return findings
}

const OR_ALLOW = 'Put it back, or, if it was you, let it pass by its name in gates.allow, then say to look again.'

/** Its person has taken the target back to an older commit. */
async function isTakenBack({ top, base }: Place, made: string): Promise<boolean> {
  return (await git(top, ['merge-base', '--is-ancestor', base, made])).ok
}

function targetWords({ target, base }: Place, made: string): string {
  const moved = `${target} holds ${base.slice(0, 10)}, which is a commit of this work, and pcc has not put it there.`
  return `${moved} If it was not you: git update-ref refs/heads/${target} ${made.slice(0, 10)}. ${OR_ALLOW}`
}

function found(code: string, text: string): Finding {
  return { code, weight: 'block', text }
}
