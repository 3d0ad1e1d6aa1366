const KEPT_TEXT = 4_000
const KEPT_ALL = 64_000

/** The input of a request as a row keeps it: long texts cut, and nothing but the names where it is still too much. */
export function keptInput(input: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(input).map(([name, value]) => [name, cutText(value)] as const)
  const kept = Object.fromEntries(entries)
  if (JSON.stringify(kept).length <= KEPT_ALL) return kept
  return {
    left_out: Object.keys(input)
      .slice(0, 50)
      .map(name => cutText(name)),
  }
}

function cutText(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= KEPT_TEXT) return value
  return `${value.slice(0, KEPT_TEXT).toWellFormed()}… (${value.length} characters)`
}
