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
