/** Far above any message that makes sense: a file of that size is never sent whole. */
const MAX_LINE = 32_000_000

/** What came on one line: a JSON object, or something that is none. */
export type Line = { message: Record<string, unknown> } | { garbage: string }

/** Cuts a stream of bytes into lines and reads each as JSON. A line without end is given up, not kept. */
export async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let size = 0
  let isSkipping = false
  for await (const chunk of input) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = isSkipping ? undefined : Buffer.concat([...parts, chunk.subarray(start, end)])
      start = end + 1
      parts = []
      size = 0
      isSkipping = false
      if (line && line.length > 0) yield read(line.toString('utf8'))
    }
    if (isSkipping || start === chunk.length) continue
    parts.push(chunk.subarray(start))
    size += chunk.length - start
    if (size <= MAX_LINE) continue
    yield { garbage: `a line of more than ${MAX_LINE} bytes` }
    parts = []
    size = 0
    isSkipping = true
  }
  if (!isSkipping && parts.length > 0) yield read(Buffer.concat(parts).toString('utf8'))
}

function read(text: string): Line {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { message: value as Record<string, unknown> }
  } catch {
    // told below
  }
  return { garbage: text.slice(0, 200) }
}
