import type { Preference } from '../../domain/brain/requirements.ts'
import { keyValue } from './key-value.ts'

/** "Avoid: MySQL, Redis" prefers neither: who looks for names among values must not find these without the word before them. */
export function preferenceIn({ key, value }: Preference): Preference {
  return isRuledOut(key) ? { key: '', value: eachAvoided(value).join('; ') } : { key, value }
}

/** The same of constraints: each thing that is ruled out is one of its own. */
export function constraintsIn(text: string): string[] {
  const { key, value } = keyValue(text)
  return isRuledOut(key) && value !== '' ? eachAvoided(value) : [text]
}

function eachAvoided(value: string): string[] {
  return value
    .split(/[,;]|\s+(?:and|or)\s+/i)
    .map(name => name.trim())
    .filter(Boolean)
    .map(name => `avoid ${name}`)
}

function isRuledOut(key: string): boolean {
  return /^(avoid|exclude[ds]?|forbidden|banned|prohibited|disallowed|unwanted|without|no|not|not allowed|(never|do not|don['’]t|must not|mustn['’]t)( use)?)$/i.test(
    key.trim(),
  )
}
