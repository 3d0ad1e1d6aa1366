import type { AppPaths } from '../base/app-paths.ts'
import { agentEnvironment, STANDARD_AGENT_ENV } from '../domain/agent-env.ts'
import type { StartSession } from '../domain/api.ts'
import type { SettingsFor } from './load-settings.ts'

const { statSync } = process.getBuiltinModule('node:fs')
const { dirname, join } = process.getBuiltinModule('node:path')

type Env = Record<string, string | undefined>

/** The part of the caller's environment that is sent for the agent with a request. Keys of other vendors are left out. */
export async function sessionEnvironment(session: SettingsFor): Promise<Record<string, string>> {
  return agentEnvironment(session.env, await patternsForAgents(session))
}

/**
 * The same for an existing session, with the keys of its brains. The daemon knows the agent of the session and keeps only the
 * variables of that agent.
 */
export async function resumeEnvironment(session: SettingsFor): Promise<Record<string, string>> {
  const [patterns, { patternsOfAll }] = await Promise.all([configuredPatterns(session), import('../domain/vendors.ts')])
  return { ...agentEnvironment(session.env, patternsOfAll(patterns)), ...(await brainKeys(session)) }
}

/** The caller's own settings, which the new session runs under: the config file and the `PCC_*` variables. */
export function callerSettings(paths: AppPaths, env: Env): Pick<StartSession, 'config' | 'settings'> {
  const settings = Object.entries(env).filter(
    (entry): entry is [string, string] => isSettingVariable(entry[0]) && !!entry[1],
  )
  return { config: mayHaveConfigFile(paths) ? paths.configFile : null, settings: Object.fromEntries(settings) }
}

/** The values of the brain keys that the settings only name. They are for the daemon and never reach an agent. */
export async function brainKeys(session: SettingsFor): Promise<Record<string, string>> {
  if (!mayHaveSettings(session)) return {}
  const [{ loadSettings }, { namedKeys }] = await Promise.all([
    import('./load-settings.ts'),
    import('../domain/config/layers.ts'),
  ])
  return namedKeys((await loadSettings(session)).values, session.env)
}

async function patternsForAgents(session: SettingsFor): Promise<readonly string[]> {
  if (session.agent === undefined && !mayHaveSettings(session)) return STANDARD_AGENT_ENV
  const [{ loadSettings }, { chooseAgent }, { patternsFor }] = await Promise.all([
    import('./load-settings.ts'),
    import('../domain/choose-agent.ts'),
    import('../domain/vendors.ts'),
  ])
  const { config, origin } = await loadSettings(session)
  const agentKind = (text: string, source: string) =>
    chooseAgent({ text, origin: source, custom: config.agents.custom, directory: session.project }).kind
  const second = config.gates.second_opinion
  const kinds = [
    session.agent === undefined
      ? agentKind(config.agent.command, origin('agent.command'))
      : agentKind(session.agent, '--agent'),
    ...(second === 'off' ? [] : [agentKind(second, origin('gates.second_opinion'))]),
    ...config.failover.agents.map(text => agentKind(text, origin('failover.agents'))),
    ...config.failover.labels.map(pair => agentKind(pair.slice(pair.indexOf('=') + 1), origin('failover.labels'))),
  ]
  return kinds.flatMap(kind => patternsFor(kind, config.agents.env))
}

async function configuredPatterns(session: SettingsFor): Promise<readonly string[]> {
  if (!mayHaveSettings(session)) return STANDARD_AGENT_ENV
  const { loadSettings } = await import('./load-settings.ts')
  return (await loadSettings(session)).config.agents.env
}

/** Whether any setting can exist. With no config file and no variable that could be a setting, the defaults apply unread. */
function mayHaveSettings({ paths, env, project }: SettingsFor): boolean {
  return mayHaveConfigFile(paths) || hasProjectFile(project) || Object.keys(env).some(isSettingVariable)
}

/** A config file that was named but does not exist counts too: reading it reports the error. */
function mayHaveConfigFile({ home, configFile }: AppPaths): boolean {
  return configFile !== join(home, 'config.toml') || !isAbsent(configFile)
}

/** Searches up to the root directory: a file that turns out not to count only costs the time to read it. */
export function hasProjectFile(directory: string): boolean {
  const parent = dirname(directory)
  return !isAbsent(join(directory, '.perpetualcc.toml')) || (parent !== directory && hasProjectFile(parent))
}

/** The variable of a setting has a section and a name, except for a few short ones. PCC_HOME and PCC_CONFIG are not settings. */
function isSettingVariable(name: string): boolean {
  return /^PCC_[^_]*_/.test(name) || /^PCC_(LIMIT|MODEL|AGENT|PARALLEL)$/.test(name)
}

/** A file that cannot be checked counts as present: reading it reports what is wrong. */
function isAbsent(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}
