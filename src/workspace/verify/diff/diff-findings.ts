import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { DiffSettings } from './change/change.ts'
import { readChange } from './change/read-change.ts'
import { type JudgeDiff, judgeApart } from './worker/judge-apart.ts'

export interface DiffRequest {
  /** Anywhere in the worktree. */
  directory: string
  /** Commits or trees: what the work began with, and what is looked at. */
  base: string
  head: string
  settings: DiffSettings
  /** Kept by whoever verifies often: starting one takes some time. */
  judge?: JudgeDiff | undefined
  signal?: AbortSignal
}

/** What the rules see between two commits. A change that git cannot show is nobody's success: that is a finding too. */
export async function diffFindings({
  directory,
  base,
  head,
  settings,
  judge = judgeApart,
  signal,
}: DiffRequest): Promise<Finding[]> {
  const change = await readChange({ directory, base, head, signal })
  if (change === undefined)
    return [{ code: 'diff.unread', weight: 'block', text: `git cannot show what lies between ${base} and ${head}.` }]
  return change.files.length + change.unread.length === 0 ? [EMPTY] : judge({ change, settings }, { signal })
}

const EMPTY: Finding = {
  code: 'diff.empty',
  weight: 'note',
  text: 'Nothing was changed: that the gates pass says nothing about the task.',
}
