/** What each rung of the ladder is called where the agent runs, cheapest first (`models.*`). */
export interface ModelNames {
  light: string
  standard: string
  strong: string
}

export type Rung = keyof ModelNames

export const RUNGS: readonly Rung[] = ['light', 'standard', 'strong']

/** The words that agents and people use for the rungs, whatever stands on them today. */
const USUAL_WORDS: Record<string, Rung> = { haiku: 'light', sonnet: 'standard', opus: 'strong' }

/** The rung that a word means: a configured name, the rung itself, or the usual word for it. */
export function rungOf(word: string | null | undefined, names: ModelNames): Rung | undefined {
  if (word == null) return undefined
  const said = word.trim().toLowerCase()
  return (
    RUNGS.find(rung => names[rung].toLowerCase() === said) ??
    RUNGS.find(rung => rung === said) ??
    (Object.hasOwn(USUAL_WORDS, said) ? USUAL_WORDS[said] : undefined)
  )
}
