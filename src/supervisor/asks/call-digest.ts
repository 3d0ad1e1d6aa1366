import { createHash } from 'node:crypto'

/** A stand-in for one call with all of its input, whatever the order of its fields: an answer is for that call alone. */
export function callDigest(tool: string, input: Record<string, unknown>): string {
  return createHash('sha256')
    .update(JSON.stringify([tool, input], sorted))
    .digest('hex')
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
