/** The entries of a list under a key, in JSON, JavaScript, TOML, YAML or an ini file; undefined where there is no such key. */
export function listUnder(text: string, key: string): Set<string> | undefined {
  const found = new Set<string>()
  let isThere = false
  const head = new RegExp(`^([ \\t]*)(?:.*[\\s{,])?["']?${key}["']?\\s*[:=]\\s*`, 'gm')
  for (const match of text.matchAll(head)) {
    if (/^\s*(#|\/\/)/.test(match[0])) continue
    isThere = true
    const rest = text.slice(match.index + match[0].length)
    for (const entry of rest.startsWith('[') ? bracketed(rest) : lined(rest, match[1]?.length ?? 0)) found.add(entry)
  }
  return isThere ? found : undefined
}

function bracketed(text: string): string[] {
  let depth = 0
  let end = 0
  for (; end < text.length; end++) {
    if (text[end] === '[') depth += 1
    if (text[end] === ']') depth -= 1
    if (depth === 0) break
  }
  const inner = text.slice(1, end).replace(/^\s*(#|\/\/).*$/gm, '')
  const quoted = [...inner.matchAll(/"([^"]*)"|'([^']*)'|`([^`]*)`/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
  return quoted.length > 0
    ? quoted
    : inner
        .split(',')
        .map(each => each.trim())
        .filter(Boolean)
}

/** `- a` below the key, or words behind it and in deeper lines. */
function lined(text: string, indent: number): string[] {
  const [first = '', ...below] = text.split('\n')
  const entries = words(first)
  for (const line of below) {
    if (line.trim() === '' || /^\s*#/.test(line)) continue
    const depth = /^\s*/.exec(line)?.[0].length ?? 0
    const isItem = /^\s*-\s/.test(line)
    if (depth < indent || (depth === indent && !isItem)) break
    entries.push(...words(line.replace(/^\s*-\s*/, '')))
  }
  return entries
}

function words(line: string): string[] {
  return line
    .replace(/\s#.*$/, '')
    .split(/[,\s]+/)
    .map(each => each.replace(/^["'{]+|["'},]+$/g, ''))
    .filter(Boolean)
}
