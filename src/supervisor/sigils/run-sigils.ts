import type { EventBody } from '../../domain/event.ts'
import { heedSigils } from './heed-sigils.ts'
import { readSigils } from './read-sigils.ts'

/** What the sigils at the end of a turn ask of the run that the task belongs to; nothing where they ask nothing. */
export function runSigils(text: string, task: string | null): EventBody<'turn.ended'>['sigils'] {
  const { nextModel, gaveUp, reason = '' } = heedSigils(readSigils(text, { task: task ?? undefined }), { open: 0 })
  if (nextModel === undefined && !gaveUp) return undefined
  return { ...(nextModel !== undefined && { next_model: nextModel }), ...(gaveUp && { gave_up: reason }) }
}
