const CLOSES: Record<string, string> = { '(': ')', '[': ']', '{': '}' }

/** The place after the bracket that closes the one at `open`, in masked code; the end of the text where it is never closed. */
export function closingOf(code: string, open: number): number {
  const expected: string[] = []
  const end = Math.min(code.length, open + LONGEST_BLOCK)
  for (let at = open; at < end; at++) {
    const sign = code[at] ?? ''
    const closing = CLOSES[sign]
    if (closing !== undefined) expected.push(closing)
    else if (sign === expected.at(-1)) {
      expected.pop()
      if (expected.length === 0) return at + 1
    }
  }
  return end
}

/** A block that is longer than this is none that anybody wrote; brackets that never close must not cost the square. */
const LONGEST_BLOCK = 100_000

/** What commas separate between two places, as places: `[from, to]` of each part. */
export function partsOf(code: string, from: number, to: number): [number, number][] {
  const parts: [number, number][] = []
  let begin = from
  let depth = 0
  for (let at = from; at < to; at++) {
    const sign = code[at] ?? ''
    if (sign in CLOSES) depth += 1
    else if (/[)\]}]/.test(sign)) depth -= 1
    else if (sign === ',' && depth === 0) {
      parts.push([begin, at])
      begin = at + 1
    }
  }
  if (code.slice(begin, to).trim() !== '') parts.push([begin, to])
  return parts
}

/** The line of a place, from 1 on. */
export function lineAt(text: string, place: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < place; at = text.indexOf('\n', at + 1)) line += 1
  return line
}
