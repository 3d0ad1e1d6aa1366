import { existsSync } from 'node:fs'

/** Bugs that can be switched on in a daemon that runs from source, to see that the chaos runner catches each of them. */
export const PLANTED_BUGS = [
  'no-fencing',
  'double-resume',
  'lost-outbox',
  'call-while-gated',
  'orphan',
  'double-ending',
] as const

export type PlantedBug = (typeof PLANTED_BUGS)[number]

/** What is published has none of them. */
const FROM_SOURCE = import.meta.url.endsWith('.ts')

/** Whether this bug is switched on by `PCC_PLANT`. */
export function isPlanted(bug: PlantedBug): boolean {
  return FROM_SOURCE && process.env['PCC_PLANT'] === bug
}

/**
 * Whether the store is to take its disk for full: as long as the file is there that `PCC_FULL_WHILE` names. For machines on
 * which nobody may mount a small one. Undefined where nobody asked for it.
 */
export function fullDisk(): boolean | undefined {
  const file = FROM_SOURCE ? process.env['PCC_FULL_WHILE'] : undefined
  return file === undefined ? undefined : existsSync(file)
}
