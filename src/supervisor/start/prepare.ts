import type { Places } from '../../base/places.ts'
import type { StartSession } from '../../domain/api.ts'
import { agentEnvironment } from '../../domain/config/agent-env.ts'
import { type LoadedConfig, loadConfig } from '../../domain/config/load.ts'
import type { Driver, OpenSession } from '../../domain/session.ts'
import type { LoadedRules } from '../../policy/rules/load.ts'
import { settingSourcesFor, trustedFile, trustStatus } from '../../policy/trust.ts'
import { idleRules } from '../../policy/verdict/allowed-tools.ts'
import type { SessionPolicy } from '../asks/session-policy.ts'
import type { Policy } from '../run.ts'
import { accountOf } from './account.ts'

export interface PrepareParts {
  places: Places
  /** The daemon's own environment: where its PCC_* settings are. */
  env: Record<string, string | undefined>
  policy: Policy
  driverFor(options: { executable: string | undefined; appendPrompt: string | undefined }): Promise<Driver>
}

/** What a session needs to run, computed from the request, the settings in force for its project and what is trusted. */
export interface Preparation {
  driver: Driver
  open: Omit<OpenSession, 'asks' | 'id' | 'prompt' | 'resume' | 'marker'>
  policy: SessionPolicy
  account: string
  /** How many sessions may run at once. */
  maxConcurrent: number
  /** What the person should know: settings of the project that are left out until it is trusted. */
  notes: string[]
  /** Values that must never reach a log. */
  secrets: string[]
}

/** Reads the settings for this project and cuts the caller's environment down to what the agent may see. */
export async function prepare(request: StartSession, parts: PrepareParts): Promise<Preparation> {
  const { project } = request
  const trust = await trustStatus(parts.places, project)
  const loaded = await loadConfig({ places: parts.places, env: parts.env, project, trusted: trustedFile(trust) })
  const { config } = loaded
  const { sources, strictMcp, hooksOff, note } = settingSourcesFor(trust, config.agents.setting_sources)
  const loadRules = () => parts.policy.loadRules({ places: parts.places, project, trusted: trustedFile(trust) })
  const rules = await loadRules()
  const env = agentEnvironment(request.env, config.agents.env)
  const driver = await parts.driverFor({
    executable: config.agents.path,
    appendPrompt: config.agents.append_prompt,
  })
  return {
    driver,
    open: {
      cwd: project,
      env,
      model: request.model,
      maxTurns: request.max_turns,
      disallowedTools: request.disallowed_tools,
      settingSources: sources,
      strictMcp,
      hooksOff,
      record: request.record,
      isolation: config.agents.isolation,
    },
    policy: {
      project,
      home: env['HOME'] ?? parts.places.home,
      safeDirectories: config.permissions.safe_directories,
      blocked: config.permissions.blocked_commands,
      rules: async () => (await loadRules()).rules,
      allowedTools: request.allowed_tools ?? [],
      autoApproveLow: request.auto_approve ?? config.permissions.auto_approve_low_risk,
      threshold: config.brain.confidence_threshold,
      unattendedHigh: config.permissions.unattended_high,
    },
    account: accountOf(driver.agent, env),
    maxConcurrent: config.sessions.max_concurrent,
    notes: [
      ...untrustedNote(loaded),
      ...(note === undefined ? [] : [note]),
      ...rulesNotes(rules),
      ...idleNote(request.allowed_tools ?? []),
    ],
    secrets: secretsIn(env),
  }
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
