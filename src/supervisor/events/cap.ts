/** More of one text than anybody reads back from a log; the whole of it is in the agent's own transcript. */
const MAX_STORED_TEXT = 20_000

/** A text cut to `max` characters, saying so. */
export function capText(text: string, max = MAX_STORED_TEXT): string {
  if (text.length <= max) return text
  return `${text.slice(0, max)}\n… (cut: ${text.length - max} more characters)`
}

/** A tool's input with every long text cut, at any depth. */
export function capInput(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, capValue(value, 0)]))
}

function capValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return capText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '… (cut)'
  if (Array.isArray(value)) return value.map(item => capValue(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, capValue(item, depth + 1)]))
}

/** Inputs of tools are shallow; deeper ones are not worth their stack. */
const MAX_DEPTH = 8
