import type { JudgeCallDeps } from '../judge-call.ts'
import { delegationFeature } from './delegation.ts'
import { type HookSettings, readHookSettings } from './hook-settings.ts'
import { type QuestionDeps, questionsFeature } from './questions.ts'
import type { HookContext, HookFeature } from './router.ts'
import { stopGatesFeature } from './stop-gates.ts'
import { toolErrorsFeature } from './tool-errors.ts'
import type { HookPolicy } from './triage.ts'

export interface FeatureDeps {
  classifier: JudgeCallDeps['classifier']
  /** The directory of the person's home. */
  home: string
  policyFor(project: string): Promise<HookPolicy>
  answers: QuestionDeps['answers']
}

/** Everything that hooks do besides the triage of calls. */
export function openFeatures({ classifier, home, policyFor, answers }: FeatureDeps): HookFeature[] {
  const settings = readOnce()
  return [
    questionsFeature({ settings, answers }),
    delegationFeature({ settings }),
    stopGatesFeature({ settings }),
    toolErrorsFeature({
      async risk({ tool, input, cwd }, { project }) {
        const { safeDirectories, secrets } = await policyFor(project)
        return (await classifier.classify({ tool, input, project, home, cwd, safeDirectories, secrets })).risk
      },
    }),
  ]
}

/** The features that answer one event read its settings once. */
function readOnce(): (context: HookContext) => Promise<HookSettings> {
  const known = new WeakMap<HookContext, Promise<HookSettings>>()
  return context => {
    const read = known.get(context) ?? readHookSettings(context)
    known.set(context, read)
    return read
  }
}
