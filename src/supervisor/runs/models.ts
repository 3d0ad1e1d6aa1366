import { unreachable } from '../../base/errors.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import type { PastAttempt } from '../../domain/attempt.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import type { ModelStrategy } from '../../domain/option-values.ts'
import { isTransient } from '../../domain/session.ts'
import { speaksClaude } from '../../domain/vendors.ts'

export interface ModelChoiceInput {
  names: ModelNames
  /** The task that is about to begin. */
  task: string
  /** What a person wrote down for this task: a rung, or any model's name. */
  hint?: string | null | undefined
  /** With `fixed`: the one model. Without it the agent takes its own. */
  model?: string | undefined
}

export interface ModelChoice {
  /** Undefined where the agent takes its own. */
  model: string | undefined
  /** For whoever asks why; ends no sentence. */
  why: string
}

/**
 * The model of a run's next attempt. What the agent asked for in its last attempt comes first, under every strategy; then a
 * model that the person named for the whole run; then what stands on the task; then the strategy. Pure.
 */
export function chooseModel(
  strategy: ModelStrategy,
  history: readonly PastAttempt[],
  choosing: ModelChoiceInput,
): ModelChoice {
  const { names, model, hint } = choosing
  const asked = history.at(-1)?.next_model
  const rung = rungOf(asked, names)
  if (rung) return { model: names[rung], why: `the agent asked for ${asked?.trim()}` }
  const chosen =
    strategy === 'fixed'
      ? { model, why: model === undefined ? "fixed: the agent's own model" : 'fixed' }
      : (hinted(hint, names) ?? byStrategy(strategy, history, choosing))
  return asked == null ? chosen : { ...chosen, why: `${chosen.why}; the agent asked for ${asked}, which is not set up` }
}

/** A person may name any model; an agent only those that are set up. */
function hinted(hint: string | null | undefined, names: ModelNames): ModelChoice | undefined {
  if (hint == null || hint.trim() === '') return undefined
  const rung = rungOf(hint, names)
  return { model: rung ? names[rung] : hint.trim(), why: 'named by the task' }
}

function byStrategy(
  strategy: Exclude<ModelStrategy, 'fixed'>,
  history: readonly PastAttempt[],
  { names, task }: ModelChoiceInput,
): ModelChoice {
  const choice = (rung: Rung, why: string) => ({ model: names[rung], why: `${strategy}: ${why}` })
  switch (strategy) {
    case 'cost-optimized': {
      const sign = lastSign(history, task)
      if (sign === 'error') return choice('strong', 'the last attempt failed')
      if (sign === 'clean') return choice('light', 'the last attempt went well')
      return choice('standard', sign === undefined ? 'nothing is known yet' : 'the last attempt had trouble')
    }
    case 'escalate': {
      const rung = climbed(history, names)
      return choice(rung, rung === 'light' ? 'nothing has failed' : 'attempts have failed')
    }
    case 'plan-then-execute':
      return history.length === 0
        ? choice('strong', 'the first attempt plans')
        : choice('standard', 'later ones execute')
    default:
      return unreachable(strategy)
  }
}

type Sign = 'error' | 'clean' | 'trouble'

/** A task that was tried before is judged by its own last try, whatever other tasks came to meanwhile. */
function lastSign(history: readonly PastAttempt[], task: string): Sign | undefined {
  const telling = history.filter(past => signOf(past) !== undefined)
  const last = telling.findLast(past => past.task_id === task) ?? telling.at(-1)
  return last && signOf(last)
}

/** What an attempt says about the model. An interruption, a limit or a vendor that was not to be reached says nothing. */
function signOf({ outcome, failure, troubled }: PastAttempt): Sign | undefined {
  if (outcome === 'done') return troubled ? 'trouble' : 'clean'
  if (outcome !== 'failed') return undefined
  return failure != null && (failure === 'limit' || isTransient(failure)) ? undefined : 'error'
}

/** One rung above whatever failed, and never down again but by the agent's own word. */
function climbed(history: readonly PastAttempt[], names: ModelNames): Rung {
  let at = 0
  for (const past of history) {
    const asked = rungOf(past.next_model, names)
    if (asked) at = RUNGS.indexOf(asked)
    else if (signOf(past) === 'error') {
      const ran = rungOf(past.model, names)
      at = Math.max(at, (ran ? RUNGS.indexOf(ran) : at) + 1)
    }
  }
  return RUNGS[Math.min(at, RUNGS.length - 1)] ?? 'strong'
}

/** What the command line says, and what the settings say where it is silent. */
export interface StrategyWishes {
  flags: { model?: string | undefined; strategy?: ModelStrategy | undefined }
  settings: { model?: string | undefined; strategy: ModelStrategy }
}

export type ChosenStrategy = { strategy: ModelStrategy; model?: string | undefined } | { problem: string }

/** Which strategy holds: a model that is named implies `fixed`, and a flag stands above the settings. */
export function chooseStrategy({ flags, settings }: StrategyWishes): ChosenStrategy {
  if (flags.model !== undefined && flags.strategy !== undefined && flags.strategy !== 'fixed') {
    const problem = `--model ${flags.model} means the strategy "fixed", and --model-strategy says "${flags.strategy}": leave one of them out`
    return { problem }
  }
  if (flags.model !== undefined) return { strategy: 'fixed', model: flags.model }
  if (flags.strategy === 'fixed') return { strategy: 'fixed', model: settings.model }
  if (flags.strategy !== undefined) return { strategy: flags.strategy }
  return settings.model === undefined ? { strategy: settings.strategy } : { strategy: 'fixed', model: settings.model }
}

/** An agent for which no rung has a name takes its own model, whatever the strategy would climb. */
export function byNames(
  settled: Exclude<ChosenStrategy, { problem: string }>,
  names: ModelNames,
): { strategy: ModelStrategy; model: string | undefined } {
  const hasNames = RUNGS.some(rung => names[rung] !== undefined)
  return { strategy: hasNames ? settled.strategy : 'fixed', model: settled.model }
}

export type Rung = 'light' | 'standard' | 'strong'

/** What each rung of the ladder is called where the agent runs, cheapest first (`models.*`); undefined: the agent takes its own. */
export type ModelNames = Record<Rung, string | undefined>

const RUNGS: readonly Rung[] = ['light', 'standard', 'strong']

/** The words that agents and people use for the rungs, whatever stands on them today. */
const USUAL_WORDS: Record<string, Rung> = { haiku: 'light', sonnet: 'standard', opus: 'strong' }

/** The rung that a word means: a configured name, the rung itself, or the usual word for it. */
function rungOf(word: string | null | undefined, names: ModelNames): Rung | undefined {
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
