import type { EventBody } from '../../domain/event.ts'
import { heedSigils } from './heed-sigils.ts'
import { readSigils } from './read-sigils.ts'

/**
 * What the sigils at the end of a turn ask of the run that the task belongs to; nothing where they ask nothing. `isCut`: the text is
 * too long to be stored whole, so what it leaves for others is kept beside it.
 */
export function runSigils(
  text: string,
  { task, isCut }: { task: string | null; isCut: boolean },
): EventBody<'turn.ended'>['sigils'] {
  const read = readSigils(text, { task: task ?? undefined })
  const { nextModel, gaveUp, reason = '' } = heedSigils(read, { open: 0 })
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
