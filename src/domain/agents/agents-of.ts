import type { HandOver } from './hand-over.ts'

/** Who worked in a session, by name: those that left in the order in which they did, and last the one that has it. */
export function agentsOf(agent: string, handed: Pick<HandOver, 'resting'> | undefined): string[] {
  return [...new Set([...(handed?.resting ?? []).map(({ choice }) => choice.name), agent])]
}
