import type { ModelStrategy } from '../../domain/runs/model-strategy.ts'
import { type ModelNames, RUNGS } from './model-names.ts'

/** What the command line says, and what the settings say where it is silent. */
export interface StrategyWishes {
  flags: { model?: string | undefined; strategy?: ModelStrategy | undefined }
  settings: { model?: string | undefined; strategy: ModelStrategy }
}

export type SettledStrategy = { strategy: ModelStrategy; model?: string | undefined } | { problem: string }

/** Which strategy holds: a model that is named implies `fixed`, and a flag stands above the settings. */
export function settleStrategy({ flags, settings }: StrategyWishes): SettledStrategy {
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
  settled: Exclude<SettledStrategy, { problem: string }>,
  names: ModelNames,
): { strategy: ModelStrategy; model: string | undefined } {
  const hasNames = RUNGS.some(rung => names[rung] !== undefined)
  return { strategy: hasNames ? settled.strategy : 'fixed', model: settled.model }
}
