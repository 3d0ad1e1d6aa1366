import type { Need } from '../../domain/needs.ts'
import { loadProfile } from '../../policy/layers.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { JudgeCallDeps } from '../judge-call.ts'
import { observedId } from './capture.ts'
import { delegationFeature } from './delegation.ts'
import { type HookSettings, readHookSettings } from './hook-settings.ts'
import { type NotificationDeps, notificationsFeature } from './notifications.ts'
import { promptContextFeature } from './prompt-context.ts'
import { type QuestionDeps, questionsFeature } from './questions.ts'
import type { HookContext, HookFeature } from './router.ts'
import { stopGatesFeature } from './stop-gates.ts'
import { toolErrorsFeature } from './tool-errors.ts'
import type { HookPolicy } from './triage.ts'

export interface HookFeatureDeps {
  classifier: JudgeCallDeps['classifier']
  /** The directory of the person's home. */
  home: string
  policyFor(project: string): Promise<HookPolicy>
  answers: QuestionDeps['answers']
  /** What waits for a person in a project; only a daemon knows. */
  needs?(project: string): Promise<readonly Need[]>
  /** Passes on what an agent tells its person; only a daemon has channels. */
  notify?: NotificationDeps['append']
}

/** Everything that hooks do besides the triage of calls. */
export function openFeatures({ classifier, home, policyFor, answers, needs, notify }: HookFeatureDeps): HookFeature[] {
  const settings = readOnce()
  return [
    questionsFeature({ settings, answers }),
    delegationFeature({ settings }),
    stopGatesFeature({ settings }),
    promptContextFeature({ settings, preset: readPreset, ...(needs && { needs: ({ project }) => needs(project) }) }),
    ...(notify ? [notificationsFeature({ append: notify, subject: observedId })] : []),
    toolErrorsFeature({
      async risk({ tool, input, cwd }, { project }) {
        const { safeDirectories, secrets } = await policyFor(project)
        return (await classifier.classify({ tool, input, project, home, cwd, safeDirectories, secrets })).risk
      },
    }),
  ]
}

/** The text of a role's profile. A project's own counts after `pcc trust`. */
async function readPreset(role: string, { paths, project }: HookContext) {
  const trusted = trustedFile(await trustStatus(paths, project))
  const text = (await loadProfile(role, { paths, project, trusted }))?.text
  return text === undefined ? undefined : { text, from: `profiles/${role}.toml` }
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
