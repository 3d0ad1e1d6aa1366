import { realpath } from 'node:fs/promises'
import { isHeldEnough } from '../../agents/held-enough.ts'
import type { Consent } from '../../agents/limits/consent.ts'
import { manifestOf } from '../../agents/manifests/manifests.ts'
import type { WantedDriver } from '../../agents/open.ts'
import { AppError } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import type { AgentChoice } from '../../domain/agents/choice.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import { environmentFor } from '../../domain/agents/vendors.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Brain } from '../../domain/brain/brain.ts'
import type { Budgets } from '../../domain/budget/budget.ts'
import type { Config } from '../../domain/config/config.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/environment-layer.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import type { FeaturePlace } from '../../domain/features/feature.ts'
import type { RunPlace } from '../../domain/runs/run.ts'
import type { Driver, OpenSession, Request, Verdict } from '../../domain/session.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { LoadedRules } from '../../policy/rules/load.ts'
import { skillVerdict } from '../../policy/trust/skill-verdict.ts'
import { settingSourcesFor, trustedFile, trustStatus, trustStatusIn } from '../../policy/trust.ts'
import { idleRules } from '../../policy/verdict/allowed-tools.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import type { SessionPolicy } from '../asks/session-policy.ts'
import { brainEnvironment } from '../brain/brain-environment.ts'
import { mindFor, withFlags } from '../brain/mind.ts'
import { type FailoverSettings, failoverEnvironment, failoverSettings } from '../failover/settings.ts'
import { toolsFor } from '../features/tools-for.ts'
import type { Mind, Policy, Run } from '../run.ts'
import { budgetsIn, budgetsOf, hasMoneyBound } from '../settings/budgets-of.ts'
import { callersSettings } from '../settings/callers-settings.ts'
import { type GuardSettings, guardSettings } from '../settings/guard-settings.ts'
import { sandboxAsked } from '../settings/sandbox-asked.ts'
import { secondAgent } from '../verifier/second-agent.ts'
import { accountOf } from './agent/account.ts'
import { agentIn } from './agent/agent-in.ts'
import { checkProgram } from './agent/check-program.ts'

export interface PrepareParts {
  places: Places
  /** The daemon's own environment: its PCC_* settings count where a caller says none. */
  env: Record<string, string | undefined>
  policy: Policy
  /** The language models of the settings, shared by all sessions that have the same. */
  brainsFor(config: Config, env: Record<string, string | undefined>): Promise<Brain[]>
  driverFor(wanted: WantedDriver): Promise<Driver>
}

/** What a session needs to run, computed from the request, the settings in force for its project and what is trusted. */
export interface Preparation {
  /** The agent that was chosen, and what is known of its kind. */
  agent: AgentChoice
  manifest: AgentManifest
  driver: Driver
  open: Omit<OpenSession, 'asks' | 'id' | 'prompt' | 'resume' | 'marker'>
  policy: SessionPolicy
  account: string
  /** Refuses calls that would bring files of the project to life which nobody has agreed to. */
  guard(request: Request): Promise<Verdict | undefined>
  /** Whether its agent may work with nobody watching. */
  heldEnough: boolean
  /** The same, from how things are then. */
  again(): Promise<Preparation>
  /** How many sessions may run at once. */
  maxConcurrent: number
  mind: Mind
  /** Whether, and in which hours, a session goes on by itself after a limit. */
  consent: Consent
  quota: Run['quota']
  budgets: Budgets
  budgetsNow(): Promise<Budgets>
  guards: GuardSettings
  /** Which agents take over from one another, and when. */
  failover: FailoverSettings
  /** Variables of those agents: kept with its environment, and never the agent's. */
  othersEnv: Record<string, string>
  /** How many sessions may wait for their turn. */
  maxWaiting: number
  checkpointEveryMs: number
  retryMs: Run['retryMs']
  /** Keys of its brains that settings only name: kept with its environment, and never the agent's. */
  brainKeys: Record<string, string>
  /** Whether what its agent is started with may be kept in a file until it is over. */
  keepEnvironment: boolean
  /** What the person should know: settings of the project that are left out until it is trusted. */
  notes: string[]
  /** Values that must never reach a log or an event. */
  secrets: string[]
  /** What the row keeps of where its settings came from, so that a parked session goes on under the same. */
  settings: Pick<StartSession, 'config' | 'settings'>
}

/** Of the first wait: a vendor that is down for a moment, for a minute, for longer. */
const RETRY_FACTORS = [1, 6, 24]

/** What a session is started or goes on with. */
export type PrepareRequest = StartSession & {
  run?: RunPlace | undefined
  feature?: FeaturePlace | undefined
  place?: Place | undefined
  /** The agent of a session that goes on, or that somebody has chosen for it: settings are not asked. */
  chosen?: AgentChoice | undefined
}

/** Reads the settings for this project and cuts the caller's environment down to what the agent may see. */
export async function prepare(request: PrepareRequest, parts: PrepareParts): Promise<Preparation> {
  const { project, place } = request
  const { places, env: variables } = callersSettings(request, parts)
  const trust = await trustStatus(places, project)
  const loaded = await loadConfig({ places, env: variables, project, trusted: trustedFile(trust) })
  const { config } = loaded
  const { sources, strictMcp, hooksOff, note } = settingSourcesFor(
    place ? await trustStatusIn(places, { project, directory: place.directory, top: place.top }) : trust,
    config.agents.setting_sources,
  )
  const loadRules = () => parts.policy.loadRules({ places: parts.places, project, trusted: trustedFile(trust) })
  const rules = await loadRules()
  const agent = request.chosen ?? agentIn(request, loaded)
  const manifest = manifestOf(agent)
  const env = {
    ...environmentFor(agent.kind, request.env, config.agents.env),
    ...placeIn(request.run),
  }
  const brainEnv = brainEnvironment({ daemon: parts.env, session: request.env, patterns: config.agents.env })
  const budgets = budgetsIn(config, request)
  const failover = failoverSettings(loaded, project)
  const second = secondAgent(agent, loaded, project)
  await checkProgram(loaded, { agent, manifest, env })
  const sandbox = await sandboxAsked(config, { manifest, project, place, places: parts.places })
  const driver = await parts.driverFor({
    agent,
    executable: config.agents.path,
    appendPrompt: config.agents.append_prompt,
    host: request.host,
  })
  return {
    agent,
    manifest,
    driver,
    open: {
      cwd: place?.directory ?? project,
      env,
      model: request.model,
      maxTurns: request.max_turns,
      disallowedTools: request.disallowed_tools,
      settingSources: sources,
      strictMcp,
      hooksOff,
      record: request.record,
      followCost: hasMoneyBound(budgets),
      isolation: config.agents.isolation,
      sandbox: sandbox.asked,
      ...toolsFor(request.feature),
    },
    policy: {
      project: place?.directory ?? project,
      home: env['HOME'] ?? parts.places.home,
      worktree: place && (await fenceOf(place, project)),
      safeDirectories: config.permissions.safe_directories,
      blocked: config.permissions.blocked_commands,
      rules: async () => (await loadRules()).rules,
      allowedTools: request.allowed_tools ?? [],
      autoApproveLow: request.auto_approve ?? config.permissions.auto_approve_low_risk,
      threshold: request.confidence ?? config.brain.confidence_threshold,
      unattendedHigh: config.permissions.unattended_high,
    },
    mind: mindOf(request, mindFor(request, config, await parts.brainsFor(withFlags(config, request), brainEnv))),
    heldEnough: isHeldEnough({
      ...{ agent, manifest, sandboxed: sandbox.stands },
      ...{ allowed: config.agents.unattended, custom: config.agents.custom },
    }),
    guard: call => skillVerdict(call, { places, project, place, settingSources: sources }),
    again: () => prepare({ ...request, chosen: agent }, parts),
    account: accountOf(agent, env),
    maxConcurrent: config.sessions.max_concurrent,
    consent: {
      autoResume: request.auto_resume ?? config.sessions.auto_resume,
      hours: config.sessions.resume_hours,
      zone: env['TZ'],
    },
    quota: {
      thresholds: {
        notice: config.quota.notice_percent,
        warning: config.quota.warning_percent,
        critical: config.quota.critical_percent,
        gateOnEstimate: config.quota.gate_on_estimate,
      },
      onCritical: config.quota.on_critical,
    },
    budgets,
    budgetsNow: () => budgetsOf({ project, options: request }, parts),
    guards: guardSettings(config),
    failover,
    othersEnv: failoverEnvironment(
      request.env,
      second ? [...failover.order, second] : failover.order,
      config.agents.env,
    ),
    maxWaiting: config.sessions.max_waiting,
    checkpointEveryMs: config.sessions.checkpoint_minutes * 60_000,
    retryMs: RETRY_FACTORS.map(factor => config.sessions.retry_seconds * 1000 * factor),
    brainKeys: brainKeysIn(request.settings ?? {}),
    keepEnvironment: config.sessions.keep_environment,
    notes: [
      ...untrustedNote(loaded),
      ...(note === undefined ? [] : [note]),
      ...rulesNotes(rules),
      ...idleNote(request.allowed_tools ?? []),
    ],
    secrets: secretsIn(env),
    settings: {
      ...(request.config !== undefined && { config: request.config }),
      ...(request.settings && { settings: settingsToKeep(request.settings) }),
    },
  }
}

/** What is shared is found from the project: what a worktree says of it, its agent may have written. */
async function fenceOf({ top }: Place, project: string): Promise<SessionPolicy['worktree']> {
  const shared = await findGitFolder(project)
  if (!shared) throw new AppError('project_without_git', { project })
  return { top: await realpath(top), repository: shared.common }
}

/** In an interview it is the person who is asked, and nobody in their place. */
function mindOf({ feature }: PrepareRequest, mind: Mind): Mind {
  return feature?.phase === 'interview' ? { ...mind, autoAnswer: false } : mind
}

/** An agent of a run knows how far it is. */
function placeIn(run: RunPlace | undefined): Record<string, string> {
  return run ? { PCC_ITERATION: String(run.iteration), PCC_TOTAL: String(run.total) } : {}
}

function untrustedNote({ projectFile, untrusted }: LoadedConfig): string[] {
  if (untrusted.length === 0) return []
  return [`${projectFile}: left out until you agree to it with pcc trust: ${untrusted.join(', ')}`]
}

function rulesNotes({ problem, waiting }: LoadedRules): string[] {
  return [
    ...(problem ? [`${problem.message} ${problem.next}`] : []),
    ...(waiting.length > 0
      ? ["The project's own allow rules are left out until you agree to them with pcc trust."]
      : []),
  ]
}

function idleNote(rules: string[]): string[] {
  const idle = idleRules(rules)
  if (idle.length === 0) return []
  return [
    `--allowed-tools ${idle.join(', ')} lets nothing through: name the commands, as in Bash(npm test) or Bash(npm run:*).`,
  ]
}

/** Values of variables that are named like secrets. */
function secretsIn(env: Record<string, string>): string[] {
  return Object.entries(env)
    .filter(([name]) => /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH|HEADERS|PROXY/i.test(name))
    .map(([, value]) => value)
}
