import type { Log } from '../../base/log.ts'
import type { EventBody } from '../../domain/event.ts'
import { type IgnoredSigil, type ReadSigils, readSigils, type Sigil } from './read-sigils.ts'

/** What the sigils of a turn mean together. */
export interface AppliedSigils {
  /** How the agent says its task ended; a failure counts before a success. */
  claim: 'done' | 'failed' | undefined
  /** The reason for `failed`, where the agent gave one. */
  reason?: string | undefined
  /** The agent gives up on everything it works on, not only on this task. */
  gaveUp: boolean
  nextModel: string | undefined
  /** For the log. */
  ignored: IgnoredSigil[]
}

/**
 * What an agent's sigils mean for its task and for the queue or run that the task is part of. `open` counts the other tasks
 * that are not done; while there are any, a promise that everything is complete cannot be true. Pure.
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
    ignored: early ? [...ignored, { text: COMPLETE, why: `${countTasks(open)} still open` }] : ignored,
  }
}

const COMPLETE = '<promise>COMPLETE</promise>'

function isComplete(sigil: Sigil): boolean {
  return sigil.kind === 'promise' && sigil.promise === 'COMPLETE'
}

function reasonOf(sigil: Sigil | undefined): string | undefined {
  return sigil && 'reason' in sigil ? sigil.reason : undefined
}

function countTasks(count: number): string {
  return count === 1 ? 'one task is' : `${count} tasks are`
}

export interface EndedTurn {
  /** The agent's last message. */
  text: string
  task: string | null
  /** How many other tasks of the queue or run are open. */
  open: number
  log: Log
}

/**
 * The reason, where the agent says at the end of its turn that its task failed; otherwise undefined. Sigils that do not
 * count are logged.
 */
export function reasonForGivingUp({ text, task, open, log }: EndedTurn): string | undefined {
  const read = readSigils(text, { task: task ?? undefined })
  const { claim, reason, ignored } = applySigils(read, { open })
  for (const { text: line, why } of ignored) log.info({ sigil: line, why }, 'a sigil does not count')
  return claim === 'failed' ? (reason ?? lastParagraph(text)) : undefined
}

const LONGEST = 500

/** The last paragraph of a text without its sigils: the reason, if the sigil gives none. */
function lastParagraph(text: string): string {
  const paragraphs = text
    .split(/\n\s*\n/)
    .map(paragraph => paragraph.replace(/^<[a-z-]+>.*<\/[a-z-]+>\s*$/gm, '').trim())
    .filter(paragraph => paragraph !== '')
  const last = (paragraphs.at(-1) ?? '').replace(/\s+/g, ' ')
  if (last === '') return 'the agent says that it failed, without a reason'
  return last.length > LONGEST ? `${last.slice(0, LONGEST - 1).toWellFormed()}…` : last
}

/**
 * What the sigils at the end of a turn ask of the task's run; undefined if they ask nothing. `isCut`: the text is too long
 * to be stored whole, so its journal and knowledge sigils are stored beside it.
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

/** Each has at most 4,000 characters. */
const MOST_LEFT = 8
