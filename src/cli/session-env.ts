import type { AppPaths } from '../base/app-paths.ts'
import { agentEnvironment, STANDARD_AGENT_ENV } from '../domain/agent-env.ts'
import type { StartSession } from '../domain/api.ts'
import type { SettingsFor } from './load-settings.ts'

const { statSync } = process.getBuiltinModule('node:fs')
const { dirname, join } = process.getBuiltinModule('node:path')

type Env = Record<string, string | undefined>

/** The part of the caller's environment that travels to the agent with a request: of another vendor's keys none. */
export async function sessionEnvironment(session: SettingsFor): Promise<Record<string, string>> {
  return agentEnvironment(session.env, await wantedPatterns(session))
}

/**
 * The same for a session that is there already, with the keys of its brains. Which agent it has the daemon knows, and cuts it down to
 * what is that one's.
 */
export async function resumeEnvironment(session: SettingsFor): Promise<Record<string, string>> {
  const [patterns, { patternsOfAll }] = await Promise.all([configured(session), import('../domain/vendors.ts')])
  return { ...agentEnvironment(session.env, patternsOfAll(patterns)), ...(await brainKeys(session)) }
}

/** The caller's own settings, for the session that is to run under them: its config file and its variables. */
export function callerSettings(paths: AppPaths, env: Env): Pick<StartSession, 'config' | 'settings'> {
  const named = Object.entries(env).filter((entry): entry is [string, string] => isSettingLike(entry[0]) && !!entry[1])
  return { config: mayHaveFile(paths) ? paths.configFile : null, settings: Object.fromEntries(named) }
}

/** The keys of brains that the settings only name, with their values; they are for the daemon and never for an agent. */
export async function brainKeys(session: SettingsFor): Promise<Record<string, string>> {
  if (!mayBeSet(session)) return {}
  const [{ loadSettings }, { namedKeys }] = await Promise.all([
    import('./load-settings.ts'),
    import('../domain/config/layers.ts'),
  ])
  return namedKeys((await loadSettings(session)).values, session.env)
}

async function wantedPatterns(session: SettingsFor): Promise<readonly string[]> {
  if (session.agent === undefined && !mayBeSet(session)) return STANDARD_AGENT_ENV
  const [{ loadSettings }, { chooseAgent }, { patternsFor }] = await Promise.all([
    import('./load-settings.ts'),
    import('../domain/choose-agent.ts'),
    import('../domain/vendors.ts'),
  ])
  const { config, origin } = await loadSettings(session)
  const kindOf = (text: string, by: string) =>
    chooseAgent({ text, origin: by, custom: config.agents.custom, directory: session.project }).kind
  const second = config.gates.second_opinion
  const kinds = [
    session.agent === undefined
      ? kindOf(config.agent.command, origin('agent.command'))
      : kindOf(session.agent, '--agent'),
    ...(second === 'off' ? [] : [kindOf(second, origin('gates.second_opinion'))]),
    ...config.failover.agents.map(text => kindOf(text, origin('failover.agents'))),
    ...config.failover.labels.map(pair => kindOf(pair.slice(pair.indexOf('=') + 1), origin('failover.labels'))),
  ]
  return kinds.flatMap(kind => patternsFor(kind, config.agents.env))
}

async function configured(session: SettingsFor): Promise<readonly string[]> {
  if (!mayBeSet(session)) return STANDARD_AGENT_ENV
  const { loadSettings } = await import('./load-settings.ts')
  return (await loadSettings(session)).config.agents.env
}

/** Settings are read only where there can be any: no config file, and no variable that could be a setting, is the standard. */
function mayBeSet({ paths, env, project }: SettingsFor): boolean {
  return mayHaveFile(paths) || hasProjectFile(project) || Object.keys(env).some(isSettingLike)
}

/** One that was named and is not there is refused by whoever reads it. */
function mayHaveFile({ home, configFile }: AppPaths): boolean {
  return configFile !== join(home, 'config.toml') || !isAbsent(configFile)
}

/** Looked for up to the root: finding one that does not count only costs the time to read it. */
function hasProjectFile(directory: string): boolean {
  const parent = dirname(directory)
  return !isAbsent(join(directory, '.perpetualcc.toml')) || (parent !== directory && hasProjectFile(parent))
}

/** A setting's variable has a section and a name, two words at least, but for the short ones: PCC_HOME and PCC_CONFIG are none. */
function isSettingLike(name: string): boolean {
  return /^PCC_[^_]*_/.test(name) || /^PCC_(LIMIT|MODEL|AGENT|PARALLEL)$/.test(name)
}

/** One that cannot be looked at is there: reading it tells what is wrong. */
function isAbsent(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}
