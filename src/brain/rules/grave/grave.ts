import { folded, readings } from './revealed.ts'
import { GRAVE, GRAVE_ANYWHERE, GRAVE_ELSEWHERE, HARMLESS } from './words.ts'

/**
 * Why a machine must not agree to this text, or undefined: something destructive, paid, publishing, irreversible or sensitive
 * is named in it, in whatever words, language or disguise; or it cannot be read.
 */
export function graveWords(text: string): string | undefined {
  if (text.length > LONGEST) return 'it is too long to be read closely'
  for (const reading of readings(text)) {
    const rest = reading.replace(HARMLESS_PHRASE, ' ')
    for (const [kind, pattern] of PATTERNS) {
      const found = pattern.exec(rest)
      if (found) return `it speaks of something ${kind} ("${found[0].trim().slice(0, 60)}")`
    }
  }
  const opaque = OPAQUE.exec(text)
  return opaque ? `it holds text that cannot be read ("${opaque[0].slice(0, 20)}…")` : undefined
}

const LONGEST = 20_000

/** Something encoded: nobody knows what is agreed to. Paths and names have separators or stay shorter. */
const OPAQUE =
  /[A-Za-z0-9+/]{40,}={0,2}|(?:%[0-9a-f]{2}){3}|(?:\\x[0-9a-f]{2}){2}|(?:\\u[0-9a-f]{4}){2}|(?:&#x?[0-9a-f]+;){2}|(?:\b[01]{8}\b ?){3}/i

const alternatives = (lines: string) => lines.trim().split('\n').join('|')
const atWordStart = (lines: string) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${folded(alternatives(lines))})[\\p{L}]*`, 'u')

const HARMLESS_PHRASE = new RegExp(`(?<![\\p{L}\\p{N}])(?:${alternatives(HARMLESS)})(?![\\p{L}])`, 'gu')

const PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ...Object.entries(GRAVE).map(([kind, lines]) => [kind, atWordStart(lines)] as const),
  ['grave in another language', atWordStart(GRAVE_ELSEWHERE)],
  ['grave in another language', new RegExp(folded(alternatives(GRAVE_ANYWHERE)), 'u')],
]
