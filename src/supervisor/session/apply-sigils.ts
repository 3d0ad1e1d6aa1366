import type { Log } from '../../base/log.ts'
import type { EventBody } from '../../domain/event.ts'
import { type IgnoredSigil, type ReadSigils, readSigils, type Sigil } from './read-sigils.ts'

/** What the sigils of a turn come to. */
export interface AppliedSigils {
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
export function applySigils({ sigils, ignored }: ReadSigils, { open }: { open: number }): AppliedSigils {
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

export interface EndedTurn {
  /** The agent's own last words. */
  text: string
  task: string | null
  /** How many other tasks are open of what it works on. */
  open: number
  log: Log
}

/** Why the agent says, at the end of its turn, that its task has failed; undefined where it does not. What does not count is logged. */
export function reasonForGivingUp({ text, task, open, log }: EndedTurn): string | undefined {
  const read = readSigils(text, { task: task ?? undefined })
  const { claim, reason, ignored } = applySigils(read, { open })
  for (const { text: line, why } of ignored) log.info({ sigil: line, why }, 'a sigil does not count')
  return claim === 'failed' ? (reason ?? lastWords(text)) : undefined
}

const LONGEST = 500

/** What stands before the sigil, where that gives no reason itself. */
function lastWords(text: string): string {
  const paragraphs = text
    .split(/\n\s*\n/)
    .map(each => each.replace(/^<[a-z-]+>.*<\/[a-z-]+>\s*$/gm, '').trim())
    .filter(each => each !== '')
  const last = (paragraphs.at(-1) ?? '').replace(/\s+/g, ' ')
  if (last === '') return 'the agent says that it failed, without a reason'
  return last.length > LONGEST ? `${last.slice(0, LONGEST - 1).toWellFormed()}…` : last
}

/**
 * What the sigils at the end of a turn ask of the run that the task belongs to; nothing where they ask nothing. `isCut`: the text is
 * too long to be stored whole, so what it leaves for others is kept beside it.
 */
export function sigilsForRun(
  text: string,
  { task, isCut }: { task: string | null; isCut: boolean },
): EventBody<'turn.ended'>['sigils'] {
  const read = readSigils(text, { task: task ?? undefined })
  const { nextModel, gaveUp, reason = '' } = applySigils(read, { open: 0 })
  const left = isCut ? read.sigils.filter(sigil => sigil.kind === 'journal' || sigil.kind === 'knowledge') : []
  if (nextModel === undefined && !gaveUp && left.length === 0) return undefined
  return {
    ...(nextModel !== undefined && { next_model: nextModel }),
    ...(gaveUp && { gave_up: reason }),
    ...(left.length > 0 && { left: left.slice(0, MOST_LEFT) }),
  }
}

/** Each is 4,000 characters at most. */
const MOST_LEFT = 8
