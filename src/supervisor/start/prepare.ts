import { realpath } from 'node:fs/promises'
import { isHeldEnough } from '../../agents/held-enough.ts'
import { manifestOf } from '../../agents/manifests/manifests.ts'
import { AppError } from '../../base/errors.ts'
import { environmentFor } from '../../domain/agents/vendors.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/environment-layer.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { RunPlace } from '../../domain/runs/run.ts'
import type { Place } from '../../domain/workspace/place.ts'
import { skillVerdict } from '../../policy/trust/skill-verdict.ts'
import { settingSourcesFor, trustedFile, trustStatus, trustStatusIn } from '../../policy/trust.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'
import type { SessionPolicy } from '../asks/session-policy.ts'
import { brainEnvironment } from '../brain/brain-environment.ts'
import { mindFor, withFlags } from '../brain/mind.ts'
import { failoverEnvironment, failoverSettings } from '../failover/settings.ts'
import { toolsFor } from '../features/tools-for.ts'
import type { Mind } from '../run.ts'
import { budgetsIn, budgetsOf, hasMoneyBound } from '../settings/budgets-of.ts'
import { callersSettings } from '../settings/callers-settings.ts'
import { guardSettings } from '../settings/guard-settings.ts'
import { sandboxAsked } from '../settings/sandbox-asked.ts'
import { startNotes } from '../settings/start-notes.ts'
import { secondAgent } from '../verifier/second-agent.ts'
import { accountOf, formerAccounts } from './agent/account.ts'
import { agentIn } from './agent/agent-in.ts'
import { checkProgram } from './agent/check-program.ts'
import type { Preparation, PrepareParts, PrepareRequest } from './preparation.ts'

/** Of the first wait: a vendor that is down for a moment, for a minute, for longer. */
const RETRY_FACTORS = [1, 6, 24]

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
    notes: startNotes({ loaded, rules, sources: note, allowedTools: request.allowed_tools ?? [] }),
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

/** Values of variables that are named like secrets. */
function secretsIn(env: Record<string, string>): string[] {
  return Object.entries(env)
    .filter(([name]) => /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH|HEADERS|PROXY/i.test(name))
    .map(([, value]) => value)
}
