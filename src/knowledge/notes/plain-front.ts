/** Text that YAML takes as it stands: it begins with a letter and holds nothing that means something there. */
const WORDS = /^\p{L}[\p{L}\p{N} ._/()+-]*$/u
/** Those of them that are no text to it. */
const OTHER = /^(true|false|null|yes|no|on|off|y|n|\.nan|\.inf)$/i
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
/** Of letters that make no number. */
const HEX = /^(?=[0-9a-f]*[abcdf])[0-9a-f]{4,64}$/
const LIST = /^\[([^[\]]*)\]$/

/**
 * Front matter that is a plain word or a list of them behind each key, as most is, without a parser for all of YAML: notes are read
 * before every task, and that takes a millisecond for each. Undefined for anything else, which is left to the parser. Pure.
 */
export function plainFront(text: string): Record<string, string | string[]> | undefined {
  const front: Record<string, string | string[]> = {}
  for (const line of text.split('\n')) {
    const [, key, given = ''] = /^([a-z][a-z_]*): (.*)$/.exec(line) ?? []
    if (key === undefined || Object.hasOwn(front, key)) return undefined
    const value = plainValue(given)
    if (value === undefined) return undefined
    front[key] = value
  }
  return front
}

function plainValue(text: string): string | string[] | undefined {
  const list = LIST.exec(text)?.[1]
  if (list === undefined) return isPlain(text) ? text : undefined
  if (list === '') return []
  const items = list.split(',').map(item => item.trim())
  return items.every(item => isPlain(item)) ? items : undefined
}

function isPlain(text: string): boolean {
  return (WORDS.test(text) && !OTHER.test(text) && !text.endsWith(' ')) || TIME.test(text) || HEX.test(text)
}
