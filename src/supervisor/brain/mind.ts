import { chain } from '../../brain/chain.ts'
import { rulesBrain } from '../../brain/rules/brain.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Brain } from '../../domain/brain/brain.ts'
import { BRAIN_KINDS } from '../../domain/brain/brain-kind.ts'
import type { Config } from '../../domain/config/config.ts'
import { memorySettings } from '../../human/memory/settings.ts'
import type { Mind } from '../run.ts'

/** Who forms opinions for a session, cheap ones first, and how far they are followed: its flags count before settings. */
export function mindFor(request: StartSession, config: Config, models: Brain[]): Mind {
  const threshold = request.confidence ?? config.brain.confidence_threshold
  return {
    brain: chain([rulesBrain, ...models], { threshold }),
    threshold,
    autoAnswer: config.brain.auto_answer,
    memory: memorySettings(config.memory),
    deadlines: config.human,
  }
}

/** The settings with what `pcc start --brain … --brain-model …` said in their place. */
export function withFlags(config: Config, { brain: kind, brain_model: model }: StartSession): Config {
  const type = BRAIN_KINDS.find(each => each === kind) ?? config.brain.type
  if (type === 'none') return { ...config, brain: { ...config.brain, type, ...(kind === 'none' && { fallbacks: [] }) } }
  if (model === undefined) return { ...config, brain: { ...config.brain, type } }
  const section = type === 'openai-compatible' ? 'openai_compatible' : type
  return { ...config, brain: { ...config.brain, type, [section]: { ...config.brain[section], model } } }
}
