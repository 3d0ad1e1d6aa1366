import type { HandOver } from './hand-over.ts'

/** Who worked in a session, by name: those that left in the order in which they did, and last the one that has it. One that was shut before it began did not. */
export function agentsOf(agent: string, handed: Pick<HandOver, 'resting'> | undefined): string[] {
  const worked = (handed?.resting ?? []).filter(({ vendor_id }) => typeof vendor_id === 'string')
  return [...new Set([...worked.map(({ choice }) => choice.name), agent])]
}
