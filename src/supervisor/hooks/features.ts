import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type HookEvent, type HookEventKind, type HookEventOf, roleOf, TASK_ID } from '../../domain/hooks.ts'
import type { Need } from '../../domain/needs.ts'
import type { JudgeCallDeps } from '../judge-call.ts'
import type { HookMemory } from '../memory/hook-memory.ts'
import { hookKinds } from '../memory/phases.ts'
import type { NotificationDeps } from './notifications.ts'
import { STEP_TOOLS } from './open-steps.ts'
import type { QuestionDeps } from './questions.ts'
import { type AnswerEvent, feature, type HookContext, type HookFeature, onDemand } from './router.ts'
import type { StopGateDeps } from './stop-gates.ts'
import type { HookPolicy } from './triage.ts'

export interface HookFeatureDeps {
  classifier: JudgeCallDeps['classifier']
  /** The directory of the person's home. */
  home: string
  policyFor(project: string): Promise<HookPolicy>
  answers: QuestionDeps['answers']
  /** What waits for a person in a project; only a daemon knows. */
  needs?(project: string): Promise<readonly Need[]>
  stop?: StopGateDeps
  /** What was learned before, and its upkeep. */
  memory: HookMemory
  /** Passes on what an agent tells its person; only a daemon has channels. */
  notify?: NotificationDeps['append']
}

/**
 * Everything that hooks do besides the triage of calls. What an event does not need is not loaded: most events are calls that the
 * triage alone decides, and a hook without the daemon loads its code anew each time.
 */
export function openFeatures(deps: HookFeatureDeps): HookFeature[] {
  const { classifier, home, policyFor, answers, needs, notify, stop = {}, memory } = deps
  return [
    onUse('questions', ['tool_before'], {
      concerns: event => event.tool === 'AskUserQuestion',
      load: async () => (await import('./questions.ts')).answerQuestions({ answers }),
    }),
    onUse('delegation', ['tool_before', 'tool_after'], {
      concerns: mayDelegate,
      load: async () => (await import('./delegation.ts')).holdLeaders({ profile: readProfile }),
    }),
    onUse('stop-gates', ['session_start', 'prompt', 'tool_after', 'stop'], {
      concerns: mayBeWork,
      load: async () => (await import('./stop-gates.ts')).holdStops(stop),
    }),
    onUse('prompt-context', ['session_start', 'prompt'], {
      load: async () => {
        const { tellContext } = await import('./prompt-context.ts')
        const waiting = needs && { needs: ({ project }: HookContext) => needs(project) }
        const learned = async (event: HookEvent, context: HookContext) =>
          memory.recall(event, context.project, await findRole(event, context))
        return tellContext({ profile: readProfile, learned, ...waiting })
      },
    }),
    {
      name: 'memory',
      kinds: hookKinds('organise'),
      async answer(event, context) {
        const { memory: own, data } = (await context.settings()).config
        const retentionDays = data.episode_retention_days
        if (own.enabled) await memory.tidy(event, context.project, { retentionDays })
        return undefined
      },
    },
    onUse('notifications', notify ? ['notification'] : [], {
      load: async () => (await import('./notifications.ts')).passOn({ append: async event => notify?.(event) }),
    }),
    onUse('tool-errors', ['tool_after'], {
      concerns: event => !event.ok,
      load: async () => {
        const { explainErrors } = await import('./tool-errors.ts')
        return explainErrors({
          async risk({ tool, input, cwd }, { project }) {
            const { safeDirectories, secrets } = await policyFor(project)
            return (await classifier.classify({ tool, input, project, home, cwd, safeDirectories, secrets })).risk
          },
        })
      },
    }),
  ]
}

/** Prompts and calls concern the gates where they name a task or change the agent's list of steps. */
function mayBeWork(event: HookEvent): boolean {
  if (event.kind === 'prompt') return TASK_ID.test(event.text)
  return event.kind !== 'tool_after' || STEP_TOOLS.has(event.tool)
}

interface FeatureOnUse<Kind extends HookEventKind> {
  load(): Promise<AnswerEvent<Kind>>
  /** Whether the feature may have something to say; it decides itself once it is loaded. */
  concerns?(event: HookEventOf<Kind>, context: HookContext): boolean
}

function onUse<Kind extends HookEventKind>(
  name: string,
  kinds: Kind[],
  { load, concerns }: FeatureOnUse<Kind>,
): HookFeature {
  const loaded = onDemand(load)
  return feature(name, kinds, async (event, context) =>
    concerns && !concerns(event, context) ? undefined : (await loaded())(event, context),
  )
}

/** Whether somebody may have a role: by the environment, the type of a subagent, or the marker in the project. */
function mayDelegate(event: HookEvent, { env, project }: HookContext): boolean {
  if (event.agent_id !== undefined) return event.agent_type !== undefined
  return env['AGENT_ROLE'] !== undefined || hasMarker(project)
}

function hasMarker(project: string): boolean {
  return existsSync(join(project, '.claude', '.delegation-state'))
}

async function findRole(event: HookEvent, { env, project }: HookContext): Promise<string | null> {
  const role = roleOf(event, env)
  if (role !== undefined || event.agent_id !== undefined || !hasMarker(project)) return role ?? null
  const { readRoleMarker } = await import('./delegation-state.ts')
  return (await readRoleMarker(project, event.session)) ?? null
}

/** The preset of a role. A project's own counts after `pcc trust`. */
async function readProfile(role: string, { paths, project }: HookContext) {
  const [{ loadProfile }, { trustedFile, trustStatus }] = await Promise.all([
    import('../../policy/layers.ts'),
    import('../../policy/trust/trust.ts'),
  ])
  const trusted = trustedFile(await trustStatus(paths, project))
  return loadProfile(role, { paths, project, trusted })
}
