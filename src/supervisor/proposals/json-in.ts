/** The JSON of a reply: all of it, or the last code block of it, since models explain themselves even when told not to. */
export function jsonIn(text: string): unknown {
  return allJsonIn(text)[0]
}

/** Every one of them, the one that counts first. */
export function allJsonIn(text: string): unknown[] {
  const blocks = [...text.matchAll(/^[ \t]*(`{3,}|~{3,})[^\n]*\n([\s\S]*?)^[ \t]*\1[ \t]*$/gm)].map(
    ([, , body = '']) => body,
  )
  return [text, ...blocks.reverse()].map(parsed).filter(found => found !== undefined)
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined // the next candidate, or nothing, which is told as such
  }
}
