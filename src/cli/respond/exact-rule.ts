import type { EscalationView } from '../../domain/escalation.ts'

/** The narrowest rule there is for a request: it alone, letter by letter. None where it cannot be written on one line without wildcards. */
export function exactRule({
  kind,
  tool,
  normalised,
}: Pick<EscalationView, 'kind' | 'tool' | 'normalised'>): { tool: string; match: string } | undefined {
  const match = normalised.slice(tool.length + 1)
  const writable = kind === 'permission' && match !== '' && !/[*\p{Cc}\p{Cf}\u2028\u2029…]/u.test(match)
  return writable ? { tool, match } : undefined
}
