import { stat } from 'node:fs/promises'
import type { AppError } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { type MemorySettings, memorySettings } from '../../human/memory/settings.ts'
import { type LoadedRules, loadRules } from '../../policy/rules/load.ts'
import { userRulesFile } from '../../policy/rules/places.ts'
import { trustedFile, trustStatus } from '../../policy/trust.ts'
import type { DecisionContext } from '../../policy/verdict/decide.ts'
import type { RememberedAnswers } from '../../store/decisions/remembered-answers.ts'

export interface ProjectPolicy {
  settings: Pick<DecisionContext, 'blocked' | 'autoApproveLow' | 'threshold' | 'unattendedHigh'>
  safeDirectories: readonly string[]
  rules: LoadedRules
  /** Where the person's own rules are written. */
  userFile: string
  /** What people answered before. */
  answers: Pick<RememberedAnswers, 'find'>
  /** How far those count. */
  memory: MemorySettings
  problem?: AppError
}

export interface PolicyPlace {
  places: Places
  env: Record<string, string | undefined>
  /** One that does not exist has no settings of its own: the person's count. */
  project: string
  /** In place of the person's own rules file. */
  userFile?: string | undefined
  /** What people answered before; without it nothing was. */
  answers?: RememberedAnswers
}

const NO_ANSWERS = { find: async () => undefined }

/** The settings and rules that are in force in a project, as a session there would have them. */
export async function projectPolicy(place: PolicyPlace): Promise<ProjectPolicy> {
  const { places, env, project, userFile, answers = NO_ANSWERS } = place
  const there = await stat(project).catch(() => undefined)
  const trusted = there?.isDirectory() ? trustedFile(await trustStatus(places, project)) : () => false
  const at = there?.isDirectory() ? { project } : {}
  const { config } = await loadConfig({ places, env, trusted, ...at })
  const rules = await loadRules({ places, trusted, userFile, ...at })
  const { permissions, brain } = config
  return {
    settings: {
      blocked: permissions.blocked_commands,
      autoApproveLow: permissions.auto_approve_low_risk,
      threshold: brain.confidence_threshold,
      unattendedHigh: permissions.unattended_high,
    },
    safeDirectories: permissions.safe_directories,
    rules,
    userFile: userFile ?? userRulesFile(places),
    answers,
    memory: memorySettings(config.memory),
    ...(rules.problem && { problem: rules.problem }),
  }
}
