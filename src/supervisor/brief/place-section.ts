import type { Place } from '../../domain/workspace/place.ts'
import type { BriefSection } from './build-brief.ts'

type Branch = Pick<Place, 'branch' | 'target'>

/** Where the agent works and what becomes of it: it commits, and others merge. `archives`: refs that hold what earlier attempts left. */
export function placeSection(place: Branch | undefined, archives: readonly string[] = []): BriefSection {
  return {
    name: 'where you work',
    title: 'Where you work',
    pieces: place ? [{ text: words(place) }, ...(archives.length > 0 ? [{ text: earlierWork(archives) }] : [])] : [],
    tokens: 800,
    weight: 85,
  }
}

function words({ branch, target }: Branch): string {
  return [
    `You are in a git worktree of your own, on branch ${branch}, made from ${target}. Nobody else works in it.`,
    '',
    '- Commit your work there, in steps that make sense, with a message that says why. What you leave uncommitted is committed for you.',
    `- Stay on ${branch}: do not push, pull, fetch, merge or rebase, and do not touch other branches or worktrees.`,
    `- When you say that it is done, it is verified and then merged into ${target} for you. If that meets a conflict, you are asked to resolve it here.`,
  ].join('\n')
}

function earlierWork(archives: readonly string[]): string {
  const refs = archives.slice(-MOST_REFS).map(ref => `- ${ref}`)
  return `What earlier attempts at this task left is kept. Look at it with git log, git diff or git show before you begin:\n${refs.join('\n')}`
}

/** The latest of them. */
const MOST_REFS = 5
