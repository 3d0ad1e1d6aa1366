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
  /** What a person noted on the task: a rung, or the name of any model. */
  hint?: string | null | undefined
  /** The one model of the strategy `fixed`; undefined if the agent takes its own. */
  model?: string | undefined
}

export interface ModelChoice {
  /** Undefined if the agent takes its own. */
  model: string | undefined
  /** The reason for the choice, without a full stop. */
  why: string
}

/**
 * Chooses the model of a run's next attempt. The model that the agent asked for in its last attempt comes first, under every
 * strategy; then a model that the person named for the whole run; then the task's hint; then the strategy. Pure.
 */
export function chooseModel(
  strategy: ModelStrategy,
  history: readonly PastAttempt[],
  input: ModelChoiceInput,
): ModelChoice {
  const { names, model, hint } = input
  const asked = history.at(-1)?.next_model
  const rung = findRung(asked, names)
  if (rung) return { model: names[rung], why: `the agent asked for ${asked?.trim()}` }
  const chosen =
    strategy === 'fixed'
      ? { model, why: model === undefined ? "fixed: the agent's own model" : 'fixed' }
      : (modelFromHint(hint, names) ?? modelByStrategy(strategy, history, input))
  return asked == null ? chosen : { ...chosen, why: `${chosen.why}; the agent asked for ${asked}, which is not set up` }
}

/** A person may name any model; an agent only those that are set up. */
function modelFromHint(hint: string | null | undefined, names: ModelNames): ModelChoice | undefined {
  if (hint == null || hint.trim() === '') return undefined
  const rung = findRung(hint, names)
  return { model: rung ? names[rung] : hint.trim(), why: 'named by the task' }
}

function modelByStrategy(
  strategy: Exclude<ModelStrategy, 'fixed'>,
  history: readonly PastAttempt[],
  { names, task }: ModelChoiceInput,
): ModelChoice {
  const choice = (rung: Rung, why: string) => ({ model: names[rung], why: `${strategy}: ${why}` })
  switch (strategy) {
    case 'cost-optimized': {
      const assessment = assessLastAttempt(history, task)
      if (assessment === 'error') return choice('strong', 'the last attempt failed')
      if (assessment === 'clean') return choice('light', 'the last attempt went well')
      return choice('standard', assessment === undefined ? 'nothing is known yet' : 'the last attempt had trouble')
    }
    case 'escalate': {
      const rung = climbLadder(history, names)
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

type Assessment = 'error' | 'clean' | 'trouble'

/** A task that was tried before is judged by its own last attempt; any other task by the last attempt of the run. */
function assessLastAttempt(history: readonly PastAttempt[], task: string): Assessment | undefined {
  const assessable = history.filter(past => assessAttempt(past) !== undefined)
  const last = assessable.findLast(past => past.task_id === task) ?? assessable.at(-1)
  return last && assessAttempt(last)
}

/** What an attempt says about its model. An interruption, a limit or an unreachable vendor says nothing. */
function assessAttempt({ outcome, failure, troubled }: PastAttempt): Assessment | undefined {
  if (outcome === 'done') return troubled ? 'trouble' : 'clean'
  if (outcome !== 'failed') return undefined
  return failure != null && (failure === 'limit' || isTransient(failure)) ? undefined : 'error'
}

/** One rung above the highest that failed. Only the agent's own request leads down again. */
function climbLadder(history: readonly PastAttempt[], names: ModelNames): Rung {
  let index = 0
  for (const past of history) {
    const asked = findRung(past.next_model, names)
    if (asked) index = RUNGS.indexOf(asked)
    else if (assessAttempt(past) === 'error') {
      const failed = findRung(past.model, names)
      index = Math.max(index, (failed ? RUNGS.indexOf(failed) : index) + 1)
    }
  }
  return RUNGS[Math.min(index, RUNGS.length - 1)] ?? 'strong'
}

/** The flags of the command line, and the settings that hold where a flag is absent. */
export interface StrategyWishes {
  flags: { model?: string | undefined; strategy?: ModelStrategy | undefined }
  settings: { model?: string | undefined; strategy: ModelStrategy }
}

export type ChosenStrategy = { strategy: ModelStrategy; model?: string | undefined } | { problem: string }

/** Chooses the strategy: a named model implies `fixed`, and a flag wins over the settings. */
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

/** An agent for which no rung has a name takes its own model under every strategy. */
export function applyModelNames(
  chosen: Exclude<ChosenStrategy, { problem: string }>,
  names: ModelNames,
): { strategy: ModelStrategy; model: string | undefined } {
  const hasNames = RUNGS.some(rung => names[rung] !== undefined)
  return { strategy: hasNames ? chosen.strategy : 'fixed', model: chosen.model }
}

export type Rung = 'light' | 'standard' | 'strong'

/** The model name of each rung, cheapest first (`models.*`); undefined if the agent takes its own. */
export type ModelNames = Record<Rung, string | undefined>

const RUNGS: readonly Rung[] = ['light', 'standard', 'strong']

/** Words that agents and people commonly use for the rungs, independent of the configured names. */
const COMMON_NAMES: Record<string, Rung> = { haiku: 'light', sonnet: 'standard', opus: 'strong' }

/** The rung that a word means: a configured model name, the rung itself, or a common name for it. */
function findRung(word: string | null | undefined, names: ModelNames): Rung | undefined {
  if (word == null) return undefined
  const name = word.trim().toLowerCase()
  return (
    RUNGS.find(rung => names[rung]?.toLowerCase() === name) ??
    RUNGS.find(rung => rung === name) ??
    (Object.hasOwn(COMMON_NAMES, name) ? COMMON_NAMES[name] : undefined)
  )
}

/** The default names are Claude's models: an agent of another vendor takes its own model unless a person has set a name. */
export function modelNamesFor({ kind }: AgentChoice, { config, origin }: LoadedConfig): ModelNames {
  if (speaksClaude(kind)) return config.models
  const named = (rung: Rung) => (origin(`models.${rung}`) === 'default' ? undefined : config.models[rung])
  return { light: named('light'), standard: named('standard'), strong: named('strong') }
}
