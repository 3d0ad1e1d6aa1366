import type { AgentChoice } from '../../domain/agents/choice.ts'
import { speaksClaude } from '../../domain/agents/vendors.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'

export type Rung = 'light' | 'standard' | 'strong'

/** What each rung of the ladder is called where the agent runs, cheapest first (`models.*`); undefined: the agent takes its own. */
export type ModelNames = Record<Rung, string | undefined>

export const RUNGS: readonly Rung[] = ['light', 'standard', 'strong']

/** The words that agents and people use for the rungs, whatever stands on them today. */
const USUAL_WORDS: Record<string, Rung> = { haiku: 'light', sonnet: 'standard', opus: 'strong' }

/** The rung that a word means: a configured name, the rung itself, or the usual word for it. */
export function rungOf(word: string | null | undefined, names: ModelNames): Rung | undefined {
  if (word == null) return undefined
  const said = word.trim().toLowerCase()
  return (
    RUNGS.find(rung => names[rung]?.toLowerCase() === said) ??
    RUNGS.find(rung => rung === said) ??
    (Object.hasOwn(USUAL_WORDS, said) ? USUAL_WORDS[said] : undefined)
  )
}

/** The names as they come are Claude's: an agent of another vendor takes its own model, unless a person has set one of them. */
export function namesFor({ kind }: AgentChoice, { config, origin }: LoadedConfig): ModelNames {
  if (speaksClaude(kind)) return config.models
  const named = (rung: Rung) => (origin(`models.${rung}`) === 'default' ? undefined : config.models[rung])
  return { light: named('light'), standard: named('standard'), strong: named('strong') }
}
