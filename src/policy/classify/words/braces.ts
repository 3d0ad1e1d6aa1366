/** `{a,b{c,d}}` and `{1..3}` as the shell expands them; `undefined` when that is more than anybody writes by hand. */
export function expandBraces(text: string, budget = 64): string[] | undefined {
  const open = text.indexOf('{')
  if (open < 0) return [text]
  const close = matching(text, open)
  if (close < 0) return [text]
  const inner = text.slice(open + 1, close)
  const parts = splitTop(inner)
  const choices = parts.length > 1 ? parts : rangeOf(inner)
  const rest = expandBraces(text.slice(close + 1), budget)
  if (rest === undefined || choices === undefined) return undefined
  const heads: string[] = []
  for (const choice of choices) {
    const expanded = expandBraces(choice, budget)
    if (expanded === undefined) return undefined
    heads.push(...expanded)
  }
  if (heads.length * rest.length > budget) return undefined
  const before = text.slice(0, open)
  return heads.flatMap(head => rest.map(tail => before + head + tail))
}

function matching(text: string, open: number): number {
  let depth = 0
  for (let index = open; index < text.length; index++) {
    if (text[index] === '{') depth++
    else if (text[index] === '}' && --depth === 0) return index
  }
  return -1
}

function splitTop(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '{') depth++
    else if (text[index] === '}') depth--
    else if (text[index] === ',' && depth === 0) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

/** `1..9` or `a..e`; with a step, or longer than a screen, it is left unknown. */
function rangeOf(text: string): string[] | undefined {
  const range = /^(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])$/.exec(text)
  if (!range) return undefined
  const [, from = '', to = ''] = range
  const code = (end: string) => (/^-?\d/.test(end) ? Number(end) : end.charCodeAt(0))
  const letters = !/\d/.test(from)
  const [low, high] = [Math.min(code(from), code(to)), Math.max(code(from), code(to))]
  if (high - low > 64) return undefined
  return Array.from({ length: high - low + 1 }, (_, step) =>
    letters ? String.fromCharCode(low + step) : String(low + step),
  )
}
