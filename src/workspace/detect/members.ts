/** Whether a folder, relative to a workspace's own, belongs to it by the patterns of its manifest; `!` takes out again. */
export function isMember(folder: string, patterns: readonly string[]): boolean {
  const fits = (pattern: string) => patternOf(pattern)?.test(folder) === true
  const [taken, left] = [patterns.filter(each => !each.startsWith('!')), patterns.filter(each => each.startsWith('!'))]
  return taken.some(fits) && !left.some(each => fits(each.slice(1)))
}

/** More stars than that is no pattern of a person, and could keep us busy for ever. */
const MOST_STARS = 6

function patternOf(pattern: string): RegExp | undefined {
  const plain = pattern.replace(/^\.\//, '').replace(/\/(package\.json)?$/, '')
  if (plain.length > 200 || (plain.match(/\*+/g)?.length ?? 0) > MOST_STARS) return undefined
  const parts = plain.split(/(\*\*\/|\*\*|\*|\?|\{[^{}]*\})/).map(part => {
    if (part === '**/') return '(?:.*/)?'
    if (part === '**') return '.*'
    if (part === '*') return '[^/]*'
    if (part === '?') return '[^/]'
    if (part.startsWith('{')) return `(?:${part.slice(1, -1).split(',').map(escaped).join('|')})`
    return escaped(part)
  })
  return new RegExp(`^${parts.join('')}$`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
