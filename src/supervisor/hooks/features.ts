import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type HookEvent, type HookEventKind, roleOf, TASK_ID } from '../../domain/hooks.ts'
import type { Need } from '../../domain/needs.ts'
import type { JudgeCallDeps } from '../judge-call.ts'
import type { HookMemory } from '../memory/hook-memory.ts'
import { hookKinds } from '../memory/phases.ts'
import { observedId } from './capture.ts'
import type { HookSettings } from './hook-settings.ts'
import type { NotificationDeps } from './notifications.ts'
import { STEP_TOOLS } from './open-steps.ts'
import type { QuestionDeps } from './questions.ts'
import type { HookContext, HookFeature } from './router.ts'
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
  /** What only a daemon has for the gates at a stop. */
  stop?: Omit<StopGateDeps, 'settings'>
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
  const { classifier, home, policyFor, answers, needs, notify, stop, memory } = deps
  const settings = readOnce()
  return [
    onUse('questions', ['tool_before'], {
      concerns: event => 'tool' in event && event.tool === 'AskUserQuestion',
      load: async () => (await import('./questions.ts')).questionsFeature({ settings, answers }),
    }),
    onUse('delegation', ['tool_before', 'tool_after'], {
      concerns: mayDelegate,
      load: async () => (await import('./delegation.ts')).delegationFeature({ settings, profile: readProfile }),
    }),
    onUse('stop-gates', ['session_start', 'prompt', 'tool_after', 'stop'], {
      concerns: mayBeWork,
      load: async () => (await import('./stop-gates.ts')).stopGatesFeature({ settings, ...stop }),
    }),
    onUse('prompt-context', ['session_start', 'prompt'], {
      load: async () => {
        const { promptContextFeature } = await import('./prompt-context.ts')
        const waiting = needs && { needs: ({ project }: HookContext) => needs(project) }
        const learned = async (event: HookEvent, context: HookContext) =>
          memory.recall(event, context.project, await findRole(event, context))
        return promptContextFeature({ settings, profile: readProfile, learned, ...waiting })
      },
    }),
    {
      name: 'memory',
      kinds: hookKinds('organise'),
      async answer(event, context) {
        const { memory: own, data } = (await settings(context)).config
        const retentionDays = data.episode_retention_days
        if (own.enabled) await memory.tidy(event, context.project, { retentionDays })
        return undefined
      },
    },
    onUse('notifications', notify ? ['notification'] : [], {
      load: async () => {
        const { notificationsFeature } = await import('./notifications.ts')
        return notificationsFeature({ append: async event => notify?.(event), subject: observedId })
      },
    }),
    onUse('tool-errors', ['tool_after'], {
      concerns: event => event.kind === 'tool_after' && !event.ok,
      load: async () => {
        const { toolErrorsFeature } = await import('./tool-errors.ts')
        return toolErrorsFeature({
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

interface FeatureOnUse {
  load(): Promise<HookFeature>
  /** Whether the feature may have something to say; it decides itself once it is loaded. */
  concerns?(event: HookEvent, context: HookContext): boolean
}

function onUse(name: string, kinds: HookEventKind[], { load, concerns }: FeatureOnUse): HookFeature {
  let loaded: Promise<HookFeature> | undefined
  return {
    name,
    kinds,
    async answer(event, context) {
      if (concerns && !concerns(event, context)) return undefined
      loaded ??= load()
      return (await loaded).answer(event, context)
    },
  }
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

/** The features that answer one event read its settings once. */
function readOnce(): (context: HookContext) => Promise<HookSettings> {
  const known = new WeakMap<HookContext, Promise<HookSettings>>()
  return context => {
    const read =
      known.get(context) ?? import('./hook-settings.ts').then(({ readHookSettings }) => readHookSettings(context))
    known.set(context, read)
    return read
  }
}
