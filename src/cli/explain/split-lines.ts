/** A line as bytes, or how long one was that is too long to be kept. */
export type Line = { bytes: Buffer } | { tooLong: number }

/** The lines of a stream, one chunk's worth at a time. At most one unfinished line is held, and of that no more than `most` bytes. */
export async function* splitLines(stream: AsyncIterable<Buffer>, most: number): AsyncGenerator<Line[]> {
  let held: Buffer[] = []
  let length = 0
  const take = (part: Buffer): void => {
    length += part.length
    if (length > most) held = []
    else held.push(part)
  }
  const finish = (): Line => {
    const line = length > most ? { tooLong: length } : { bytes: Buffer.concat(held) }
    held = []
    length = 0
    return line
  }
  for await (const chunk of stream) {
    const lines: Line[] = []
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      take(chunk.subarray(from, end))
      lines.push(finish())
      from = end + 1
    }
    if (from < chunk.length) take(chunk.subarray(from))
    if (lines.length > 0) yield lines
  }
  if (length > 0) yield [finish()]
}
