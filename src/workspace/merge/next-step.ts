import type { Merge } from '../../domain/workspace/merge.ts'

/** What git and the store say about a merge, whatever its row believes. */
export interface MergeFacts {
  /** The task has a newer attempt, or is over: this work may not land any more. */
  isStale: boolean
  /** The target's commit; null where there is no such branch. */
  target: string | null
  /** The branch's commit; null where it is gone. */
  tip: string | null
  /** The target holds the verified work as it was. */
  hasHead: boolean
  /** The target holds what this merge made of it. */
  hasResult: boolean
}

/**
 * `finish`: it is in the target, only the row does not know. `restore`: somebody died in the middle; everything goes back to
 * the verified work, and it is queued anew. `attempt`: its turn. `leave`: not ours to touch.
 */
export type MergeStep =
  | { kind: 'leave' | 'clean' | 'restore' | 'attempt' }
  | { kind: 'finish'; result: string }
  | { kind: 'refuse' | 'wait' | 'give_up'; why: string }

/**
 * What is to be done with a merge: a function of its row and of facts, so that somebody who comes after a crash decides as the
 * one who died would have. What git has done counts before what the row says, and work that is in the target is in it, whoever
 * may think that its attempt is stale.
 */
export function nextMergeStep(merge: Merge, facts: MergeFacts): MergeStep {
  switch (merge.state) {
    case 'merged':
      return { kind: merge.cleaned_at === null ? 'clean' : 'leave' }
    case 'proposed':
    case 'failed':
    case 'aborted':
    case 'conflicted':
    case 'review':
      return { kind: 'leave' }
    case 'queued':
    case 'waiting':
      return atRest(merge, facts)
    case 'rebasing':
    case 'verifying':
    case 'landing':
      return underWay(merge, facts)
  }
}

function atRest(merge: Merge, facts: MergeFacts): MergeStep {
  // A person may have merged it by hand while it waited.
  if (facts.hasResult && merge.result !== null) return { kind: 'finish', result: merge.result }
  if (facts.hasHead && merge.head !== null) return { kind: 'finish', result: merge.head }
  if (facts.isStale) return { kind: 'refuse', why: 'a newer attempt at the task has begun, or the task is over' }
  if (facts.target === null) return { kind: 'wait', why: `there is no branch ${merge.target} to merge into` }
  if (facts.tip === null) return { kind: 'give_up', why: `the branch ${merge.branch} is gone` }
  if (facts.tip !== merge.head && facts.tip !== merge.result) {
    return { kind: 'give_up', why: `somebody has moved ${merge.branch} since its work was verified` }
  }
  return { kind: 'attempt' }
}

/** Somebody died here. Only the move of the target cannot be taken back, and of that git knows. */
function underWay(merge: Merge, facts: MergeFacts): MergeStep {
  if (facts.hasResult && merge.result !== null) return { kind: 'finish', result: merge.result }
  return { kind: 'restore' }
}
