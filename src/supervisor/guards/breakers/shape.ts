/** Enough of an output to tell two apart; a log of megabytes is looked at from both ends. */
const LOOKED_AT = 10_000

/**
 * The shape of a call: the same for two that differ only in a time, a counter, a temporary name or a random id. What two
 * calls of one shape brought back decides whether they count as the same, so nothing is lost by being broad here.
 */
export function callShape(tool: string, input: Record<string, unknown>): string {
  return `${tool} ${withoutNumbers(withoutIds(JSON.stringify(sorted(input))))}`
}

/**
 * The shape of what a call brought back. Numbers stay: `34 %` and `35 %` are progress. Only those that the call itself named
 * go, since a counter is echoed; times, durations and random ids go too.
 */
export function resultShape(output: string, input: Record<string, unknown>): string {
  const seen = output.length <= 2 * LOOKED_AT ? output : output.slice(0, LOOKED_AT) + output.slice(-LOOKED_AT)
  const named = new Set(JSON.stringify(input).match(/\d+/g) ?? [])
  return withoutIds(seen).replace(/\d+/g, digits => (named.has(digits) ? '#' : digits))
}

/** Dates, times of day, moments since 1970, durations, random ids and temporary names. */
const IDS: readonly [RegExp, string][] = [
  [/\b(tmp|temp)([./_-])[A-Za-z0-9._-]+/g, '$1$2<name>'],
  [/\b\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?/g, '<time>'],
  [/\b\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\b/g, '<time>'],
  [
    /\b(mon|tue|wed|thu|fri|sat|sun)[a-z]* +(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* +\d{1,2}\b/gi,
    '<time>',
  ],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b1[5-9]\d{8}(\d{3})?(\.\d+)?\b/g, '<time>'],
  [/\b\d+(\.\d+)? ?(ns|µs|us|ms|s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?)\b/g, '<duration>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi, '<id>'],
]

function withoutIds(text: string): string {
  return IDS.reduce((left, [pattern, name]) => left.replace(pattern, name), text)
}

/** Whatever was taken out counts as a number too: whether nine digits are a counter or a time is nobody's guess. */
function withoutNumbers(text: string): string {
  return text.replace(/\d+|<(time|id|duration|name)>/g, '#')
}

/** Two inputs that differ in the order of their keys are one. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}
