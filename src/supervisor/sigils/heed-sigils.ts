import type { ReadSigils } from './read-sigils.ts'
import type { IgnoredSigil, Sigil } from './sigil.ts'

/** What the sigils of a turn come to. */
export interface Heeded {
  /** What the agent says of its task; a failure counts before a claim of success. */
  claim: 'done' | 'failed' | undefined
  /** Why, with `failed`, where it said so. */
  reason?: string | undefined
  /** It gives up the whole of what it works on, not only this task. */
  gaveUp: boolean
  nextModel: string | undefined
  /** For the log. */
  ignored: IgnoredSigil[]
}

/**
 * What an agent's sigils mean for its task and for what it is part of. `open`: tasks that are not done, its own left out; while
 * there are any, a promise that everything is complete cannot be true. Pure.
 */
export function heedSigils({ sigils, ignored }: ReadSigils, { open }: { open: number }): Heeded {
  const failure = sigils.find(sigil => sigil.kind === 'task-failed')
  const givenUp = sigils.find(sigil => sigil.kind === 'promise' && sigil.promise === 'FAILURE')
  const isDone = sigils.some(sigil => sigil.kind === 'task-done' || (open === 0 && isComplete(sigil)))
  const early = open > 0 && sigils.some(isComplete)
  return {
    claim: failure || givenUp ? 'failed' : isDone ? 'done' : undefined,
    reason: reasonOf(failure) ?? reasonOf(givenUp),
    gaveUp: givenUp !== undefined,
    nextModel: sigils.findLast(sigil => sigil.kind === 'next-model')?.model,
    ignored: early ? [...ignored, { text: COMPLETE, why: `${tasks(open)} still open` }] : ignored,
  }
}

const COMPLETE = '<promise>COMPLETE</promise>'

function isComplete(sigil: Sigil): boolean {
  return sigil.kind === 'promise' && sigil.promise === 'COMPLETE'
}

function reasonOf(sigil: Sigil | undefined): string | undefined {
  return sigil && 'reason' in sigil ? sigil.reason : undefined
}

function tasks(count: number): string {
  return count === 1 ? 'one task is' : `${count} tasks are`
}
