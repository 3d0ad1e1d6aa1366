import { SIGIL_TAGS } from './sigil.ts'

const NAMES = SIGIL_TAGS.join('|')
/** Bounded: what is longer was never meant as one, and a search for its end would take long. */
const SIGIL = new RegExp(`^<(${NAMES})(?:\\s[^<>]{0,400})?(?:/>|>[\\s\\S]{0,5000}?</\\1>)[ \\t]*$`, 'gm')

/** An agent's words as a person reads them: without what it says to its supervisor. */
export function withoutSigils(text: string): string {
  return text
    .replace(SIGIL, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
