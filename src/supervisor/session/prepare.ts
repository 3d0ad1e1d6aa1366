import { realpath } from 'node:fs/promises'
import type { ResumeConsent } from '../../agents/limits/resume-times.ts'
import type { DriverRequest } from '../../agents/open.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { readEnvSecrets, readServerSecrets } from '../../base/env-files.ts'
import { AppError } from '../../base/errors.ts'
import { agentSettings } from '../../base/sandbox/home.ts'
import { chainBrains } from '../../brain/chain.ts'
import { rulesBrain } from '../../brain/rules/question.ts'
import { accountOf, formerAccounts } from '../../domain/account.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import { AGENT_TOOL_NAMES, type AgentToolName, CODE_TOOLS, MEMORY_TOOLS } from '../../domain/agent-tools.ts'
import { canRunUnattended, findManifest } from '../../domain/agents/find-manifest.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Brain } from '../../domain/brain.ts'
import type { Budgets } from '../../domain/budget.ts'
import { brainKeysIn, secretSettings, settingsToKeep } from '../../domain/config/layers.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { fillSecrets, type SecretSource } from '../../domain/config/secret-references.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { FeaturePosition } from '../../domain/feature.ts'
import type { WorkPhase } from '../../domain/feature-phase.ts'
import { BRAIN_KINDS } from '../../domain/option-values.ts'
import type { RunPosition } from '../../domain/run.ts'
import type { Driver, OpenSession, Request, Verdict } from '../../domain/session.ts'
import { environmentFor } from '../../domain/vendors.ts'
import type { Worktree } from '../../domain/worktree.ts'
import { readMemorySettings } from '../../human/precedents.ts'
import { disableGitPrograms } from '../../policy/trust/git-programs.ts'
import { judgeSkill, settingSourcesFor, trustedFile, trustStatus, trustStatusIn } from '../../policy/trust/trust.ts'
import { planSandbox } from '../../workspace/command/plan-sandbox.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import type { LiveSettings, Policy, SessionBrain, SessionPolicy } from './context.ts'
import { brainEnvironment, checkProgram, secretEnvironment, startNotes } from './prepare-agent.ts'
import {
  agentFor,
  budgetsIn,
  type FailoverSettings,
  failoverEnvironment,
  failoverSettings,
  type GuardSettings,
  guardSettings,
  hasMoneyBound,
  readBudgets,
  secondAgent,
  settingsOfCaller,
} from './settings.ts'

export interface PrepareDeps {
  paths: AppPaths
  /** The daemon's own environment: its PCC_* settings apply where the caller gives none. */
  env: Record<string, string | undefined>
  policy: Policy
  /** What settings name by `secret:NAME`. */
  secrets: SecretSource
  /** The language models of the settings, shared by all sessions with the same settings. */
  brainsFor(config: Config, env: Record<string, string | undefined>): Promise<Brain[]>
  driverFor(wanted: DriverRequest): Promise<Driver>
}

/** What a session needs to run, computed from the request, the settings in force for its project and what is trusted. */
export interface PreparedSession {
  agent: AgentChoice
  /** The manifest of the agent's kind. */
  manifest: AgentManifest
  driver: Driver
  open: Omit<OpenSession, 'asks' | 'id' | 'prompt' | 'resume' | 'marker'>
  /** The sandbox for a session with the same settings in this worktree; undefined if it has none. */
  sandboxIn(worktree: string): Promise<OpenSession['sandbox']>
  policy: SessionPolicy
  account: string
  /** The ids that earlier versions gave to this account. */
  formerAccounts: string[]
  /** Refuses calls that would activate files of the project that nobody has agreed to. */
  guard(request: Request): Promise<Verdict | undefined>
  /** Whether the agent may work with nobody watching. */
  mayRunUnattended: boolean
  /** Prepares the same session from the settings as they are when this is called. */
  prepareAgain(): Promise<PreparedSession>
  /** How many sessions may run at once. */
  maxConcurrent: number
  brainSettings: SessionBrain
  /** Whether, and in which hours, a session goes on by itself after a limit. */
  consent: ResumeConsent
  quota: LiveSettings['quota']
  budgets: Budgets
  budgetsNow(): Promise<Budgets>
  guards: GuardSettings
  /** Which agents take over from one another, and when. */
  failover: FailoverSettings
  /** Variables of those agents: kept with the session's environment, never given to its own agent. */
  otherAgentsEnv: Record<string, string>
  /** How many sessions may wait for their turn. */
  maxWaiting: number
  /** Whether the code of the project is indexed, and whether a session brings the index up to date when it starts. */
  knowledge: { enabled: boolean; autoIndex: boolean }
  checkpointEveryMs: number
  tasksPerProcess: number
  retryMs: LiveSettings['retryMs']
  /** Keys of the brains, which the settings only name: kept with the session's environment, never given to the agent. */
  brainKeys: Record<string, string>
  /** The variables of stored secrets that this agent gets. They are read again for every start, and never kept. */
  secretVariables: string[]
  /** Whether the agent's environment may be kept in a file until the session is over. */
  keepEnvironment: boolean
  /** Notes for the person, such as settings of the project that are left out until the project is trusted. */
  notes: string[]
  /** Values that must never reach a log or an event. */
  secrets: string[]
  /** Where the settings came from, as the row keeps it, so that a parked session goes on under the same settings. */
  settings: Pick<StartSession, 'config' | 'settings'>
}

/** What a session is started or goes on with. */
export type PrepareRequest = StartSession & {
  run?: RunPosition | undefined
  feature?: FeaturePosition | undefined
  place?: Worktree | undefined
  /** The agent of a session that goes on, or one that somebody chose: it counts before the settings. */
  chosen?: AgentChoice | undefined
}

/** Each wait as a multiple of the first: a vendor is down for a moment, for a minute, for longer. */
const RETRY_FACTORS = [1, 6, 24]

/** Reads the settings for this project and cuts the caller's environment down to what the agent may see. */
export async function prepare(request: PrepareRequest, deps: PrepareDeps): Promise<PreparedSession> {
  const { project, place } = request
  const { paths, env: settingsEnv } = settingsOfCaller(request, deps)
  const trust = await trustStatus(paths, project)
  const loaded = await loadConfig({ paths, env: settingsEnv, project, trusted: trustedFile(trust) })
  const { config } = loaded
  const trustHere = place ? await trustStatusIn(paths, { project, directory: place.directory, top: place.top }) : trust
  const { sources, strictMcp, hooksOff, note } = settingSourcesFor(trustHere, config.agents.setting_sources)
  const loadRules = () => deps.policy.loadRules({ paths: deps.paths, project, trusted: trustedFile(trust) })
  const rules = await loadRules()
  const agent = request.chosen ?? agentFor(request, loaded)
  const manifest = findManifest(agent)
  const secretEnv = await secretEnvironment(agent, config, deps.secrets)
  const env = {
    ...environmentFor(agent.kind, request.env, config.agents.env),
    ...secretEnv,
    ...runVariables(request.run),
    ...disableGitPrograms(trustHere.git ?? [], request.env),
  }
  const brainEnv = brainEnvironment({ daemon: deps.env, session: request.env, patterns: config.agents.env })
  const budgets = budgetsIn(config, request)
  const failover = failoverSettings(loaded, project)
  const second = secondAgent(agent, loaded, project)
  await checkProgram(loaded, { agent, manifest, env })
  const sandboxed = {
    ...{ name: manifest.name, asksEveryCall: manifest.hold === 'every-call', project },
    ...{ home: env['HOME'] ?? deps.paths.home, paths: deps.paths },
  }
  const planIn = (worktree: string | undefined) => planSandbox(config, { ...sandboxed, worktree })
  const sandbox = await planIn(place?.top)
  const driver = await deps.driverFor({
    agent,
    executable: config.agents.path,
    appendPrompt: config.agents.append_prompt,
    host: request.host,
  })
  await fillSecrets(config, deps.secrets) // what was read is known from now on, and removed from what is written
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
      sandbox: sandbox.settings,
      ...toolsFor(request.feature, config),
    },
    sandboxIn: async worktree => (await planIn(worktree)).settings,
    policy: {
      project: place?.directory ?? project,
      home: env['HOME'] ?? deps.paths.home,
      worktree: place && (await worktreeFence(place, project)),
      safeDirectories: config.permissions.safe_directories,
      blocked: config.permissions.blocked_commands,
      rules: async () => (await loadRules()).rules,
      allowedTools: request.allowed_tools ?? [],
      autoApproveLow: request.auto_approve ?? config.permissions.auto_approve_low_risk,
      threshold: request.confidence ?? config.brain.confidence_threshold,
      unattendedHigh: config.permissions.unattended_high,
    },
    brainSettings: brainForPhase(
      request,
      sessionBrainFor(request, config, await deps.brainsFor(withBrainFlags(config, request), brainEnv)),
    ),
    mayRunUnattended: canRunUnattended({
      ...{ agent, manifest, sandboxed: sandbox.settings !== undefined },
      ...{ allowed: config.agents.unattended, custom: config.agents.custom },
    }),
    guard: call => judgeSkill(call, { paths, project, place, settingSources: sources }),
    prepareAgain: () => prepare({ ...request, chosen: agent }, deps),
    account: accountOf(agent, env),
    formerAccounts: formerAccounts(agent, env),
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
    budgetsNow: () => readBudgets({ project, options: request }, deps),
    guards: guardSettings(config),
    failover,
    otherAgentsEnv: failoverEnvironment(
      request.env,
      second ? [...failover.order, second] : failover.order,
      config.agents.env,
    ),
    maxWaiting: config.sessions.max_waiting,
    knowledge: { enabled: config.knowledge.enabled, autoIndex: config.knowledge.auto_index },
    checkpointEveryMs: config.sessions.checkpoint_minutes * 60_000,
    tasksPerProcess: config.execution.tasks_per_process,
    retryMs: RETRY_FACTORS.map(factor => config.sessions.retry_seconds * 1000 * factor),
    brainKeys: brainKeysIn(request.settings ?? {}),
    secretVariables: Object.keys(secretEnv),
    keepEnvironment: config.sessions.keep_environment,
    notes: [
      ...(paths.accepted?.notes() ?? []),
      ...startNotes({
        loaded,
        rules,
        sources: note,
        trust: trustHere,
        allowedTools: request.allowed_tools ?? [],
        sandbox,
      }),
    ],
    secrets: [
      ...secretsIn(env),
      ...deps.secrets.known(),
      ...secretSettings(loaded.values, { ...request.env, ...deps.env }),
      ...[...new Set([project, place?.top, place?.directory])].flatMap(folder =>
        folder ? readEnvSecrets(folder) : [],
      ),
      ...(manifest.sandbox?.folder ? readServerSecrets(agentSettings(manifest.sandbox.folder, env), project) : []),
    ],
    settings: {
      ...(request.config !== undefined && { config: request.config }),
      ...(request.settings && { settings: settingsToKeep(request.settings) }),
    },
  }
}

/** The shared git directory is found from the project: its agent may have written what the worktree says about it. */
async function worktreeFence({ top }: Worktree, project: string): Promise<SessionPolicy['worktree']> {
  const gitFolder = await findGitFolder(project)
  if (!gitFolder) throw new AppError('project_without_git', { project })
  return { top: await realpath(top), repository: gitFolder.common }
}

/** In an interview only the person answers questions. */
function brainForPhase({ feature }: PrepareRequest, settings: SessionBrain): SessionBrain {
  return feature?.phase === 'interview' ? { ...settings, autoAnswer: false } : settings
}

/** Variables that tell the agent of a run which iteration this is. */
function runVariables(run: RunPosition | undefined): Record<string, string> {
  return run ? { PCC_ITERATION: String(run.iteration), PCC_TOTAL: String(run.total) } : {}
}

/** Values of variables that are named like secrets. */
function secretsIn(env: Record<string, string>): string[] {
  return Object.entries(env)
    .filter(([name]) => /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH|HEADERS|PROXY/i.test(name))
    .map(([, value]) => value)
}

/** The brains of a session, cheap ones first, and how far they are followed: flags count before settings. */
function sessionBrainFor(request: StartSession, config: Config, models: Brain[]): SessionBrain {
  const threshold = request.confidence ?? config.brain.confidence_threshold
  return {
    brain: chainBrains([rulesBrain, ...models], { threshold }),
    threshold,
    autoAnswer: config.brain.auto_answer,
    memory: readMemorySettings(config.memory),
    deadlines: config.human,
  }
}

/** The settings with the flags of `pcc start --brain … --brain-model …` in their place. */
function withBrainFlags(config: Config, { brain: kind, brain_model: model }: StartSession): Config {
  const type = BRAIN_KINDS.find(known => known === kind) ?? config.brain.type
  if (type === 'none') return { ...config, brain: { ...config.brain, type, ...(kind === 'none' && { fallbacks: [] }) } }
  if (model === undefined) return { ...config, brain: { ...config.brain, type } }
  const section = type === 'openai-compatible' ? 'openai_compatible' : type
  return { ...config, brain: { ...config.brain, type, [section]: { ...config.brain[section], model } } }
}

/** Agents of a feature only read; pcc writes the result. */
const READING_TOOLS = ['Read', 'Grep', 'Glob']

const TOOLS_OF_PHASE: Record<WorkPhase, { tools: string[]; ownTools: readonly AgentToolName[] }> = {
  interview: { tools: [...READING_TOOLS, 'AskUserQuestion'], ownTools: ['ask_human', 'search', ...CODE_TOOLS] },
  spec: { tools: READING_TOOLS, ownTools: ['search', ...CODE_TOOLS] },
  plan: { tools: READING_TOOLS, ownTools: ['search', ...CODE_TOOLS] },
  tasks: { tools: READING_TOOLS, ownTools: ['add_task', 'add_dependency', 'search', ...CODE_TOOLS] },
}

/** The tools of a session: all of them for work; for a feature only those that read, and no MCP server of anybody else. */
function toolsFor(
  feature: FeaturePosition | undefined,
  { knowledge, memory }: Pick<Config, 'knowledge' | 'memory'>,
): Pick<OpenSession, 'tools' | 'ownTools' | 'strictMcp'> {
  const given = feature ? { ...TOOLS_OF_PHASE[feature.phase], strictMcp: true } : { ownTools: AGENT_TOOL_NAMES }
  const missing = [...(knowledge.enabled ? [] : CODE_TOOLS), ...(memory.enabled ? [] : MEMORY_TOOLS)]
  return { ...given, ownTools: given.ownTools.filter(name => !missing.includes(name)) }
}
