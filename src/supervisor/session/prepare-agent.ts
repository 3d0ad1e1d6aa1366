import { createHash } from 'node:crypto'
import { access, constants, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { findNeededSandbox } from '../../agents/sandbox/bubblewrap.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { describeSearchPath, findInstalledProgram } from '../../base/process/find-program.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { agentEnvironment } from '../../domain/agent-env.ts'
import type { AgentManifest, SandboxSettings } from '../../domain/agent-manifest.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import type { Config } from '../../domain/config/settings.ts'
import { type Vendor, vendorIn, vendorOf } from '../../domain/vendors.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { LoadedRules } from '../../policy/verdict/load-rules.ts'
import { findIdleRules } from '../../policy/verdict/rules.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'

type Agent = { kind: string; name: string; command?: readonly string[] | undefined }

/**
 * Whose allowance a session uses: a hash of vendor, address and credential, so that a limit met by one session holds back
 * the others of the same account, and none of another vendor's. The credential itself is never kept.
 */
export function accountOf(agent: Agent, env: Record<string, string>): string {
  const vendor = vendorIn(agent.kind, env)
  // Of a program of the person's own only its command says whose it is: `node` is the name of every script.
  const tag = agent.kind === 'custom' ? ['custom', ...(agent.command ?? [agent.name])] : vendor.tag
  return hashed(tag, vendor, env)
}

/** What earlier versions called the same account: a session of theirs goes on, under the name of today. */
export function formerAccounts(agent: Agent, env: Record<string, string>): string[] {
  const vendor = vendorOf(agent.kind)
  const tag = agent.kind === 'custom' ? `custom ${agent.name}` : vendor.tag
  return [hashed(tag, vendor, env)]
}

function hashed(tag: string | string[], vendor: Vendor, env: Record<string, string>): string {
  const address = vendor.addresses.map(name => env[name]).find(Boolean) ?? 'standard'
  const hash = createHash('sha256').update(JSON.stringify([tag, address, credentialOf(vendor, env)]))
  return hash.digest('hex').slice(0, 16)
}

/** A stored login is named by the place it is stored in: one config directory holds one. */
function credentialOf({ credentials, login }: Vendor, env: Record<string, string>): string {
  for (const [name] of credentials) {
    if (env[name]) return env[name]
  }
  return `login in ${env[login.variable] ?? join(env['HOME'] ?? '', login.folder)}`
}

interface ChosenAgent {
  agent: AgentChoice
  manifest: AgentManifest
  env: Record<string, string>
}

/** Refuses an agent whose program is not there before anything is started: here it is known how to get it, and which line names it. */
export async function checkProgram(
  { config, origin }: LoadedConfig,
  { agent, manifest, env }: ChosenAgent,
): Promise<void> {
  if (manifest.speaks === 'sdk' && !agent.command) return checkPath(config.agents.path, origin('agents.path'))
  const command = agent.command?.[0] ?? manifest.start.command
  if (findInstalledProgram(command, env)) return
  const { name, start } = manifest
  const where = describeSearchPath(command, env)
  throw new AppError('agent_not_installed', { agent: name, command, where, install: start.install })
}

async function checkPath(path: string | undefined, origin: string): Promise<void> {
  if (path === undefined) return
  const problem = await access(path, constants.X_OK)
    .then(() => stat(path))
    .then(found => (found.isFile() ? undefined : 'it is not a file'), messageOf)
  if (problem !== undefined) throw new AppError('agent_path_wrong', { path, origin, problem })
}

interface SandboxPlan {
  /** Nothing where the agent is held without one: what depends on the folder would keep a process that waits from being taken. */
  asked: SandboxSettings | undefined
  /** Whether the agent will really run in one. */
  stands: boolean
}

interface SandboxSubject {
  manifest: Pick<AgentManifest, 'hold' | 'name'>
  project: string
  place: Worktree | undefined
  /** The daemon's own: nothing of them is shown. */
  paths: AppPaths
}

/**
 * The sandbox of a session by its settings. What a worktree shares with others is found from the project: what the worktree says of it,
 * its agent may have written. Refuses where one is required and there is none.
 */
export async function planSandbox(
  { agents }: Config,
  { manifest, project, place, paths }: SandboxSubject,
): Promise<SandboxPlan> {
  const { sandbox: mode, network, sandbox_read: read, sandbox_write: write } = agents
  if (manifest.hold === 'every-call') return { asked: undefined, stands: false }
  const made = await findNeededSandbox(manifest, mode)
  const git = mode === 'off' ? undefined : await gitOf(project, place)
  // A worktree's dependencies may be links into the project.
  const asked = { mode, network, read: place ? [...read, project] : read, write, hidden: ownFolders(paths), git }
  // Looked at once: who is let in because a sandbox stands is not started without it, whatever a second look would say.
  return made ? { asked: { ...asked, mode: 'required', made }, stands: true } : { asked, stands: false }
}

/** Whoever reads its token and finds its socket can do all that the person can, wherever the data directory lies. */
function ownFolders({ home, data, run, logs, socket }: AppPaths): string[] {
  return [...new Set([home, data, run, logs, dirname(socket)])]
}

async function gitOf(project: string, place: Worktree | undefined): Promise<SandboxSettings['git']> {
  const shared = await findGitFolder(project)
  if (!shared || !place) return shared
  const own = await findGitFolder(place.top)
  // One that says it belongs elsewhere was tampered with: nothing of the repository is its to write.
  if (!own?.own.startsWith(`${shared.common}/worktrees/`)) return undefined
  return { top: place.top, own: own.own, common: shared.common }
}

interface Sources {
  /** Of the daemon: keys that settings name may stand there. */
  daemon: Record<string, string | undefined>
  session: Record<string, string>
  /** `agents.env`. */
  patterns: readonly string[]
}

/**
 * What brains are reached with. A judge has the login of the session it judges for: what an agent gets of an environment is
 * never the daemon's, which may be of another account.
 */
export function brainEnvironment({ daemon, session, patterns }: Sources): Record<string, string | undefined> {
  const both = { ...daemon, ...session }
  const agents = agentEnvironment(both, patterns)
  return Object.fromEntries(Object.entries(both).filter(([name]) => name in session || !(name in agents)))
}

interface NoteSources {
  loaded: LoadedConfig
  rules: LoadedRules
  /** What is said of the settings of the agent's own that the project brings. */
  sources: string | undefined
  allowedTools: string[]
}

/** What the person should know of a session that starts: what is left out until the project is trusted, and what has no effect. */
export function startNotes({ loaded, rules, sources, allowedTools }: NoteSources): string[] {
  return [
    ...untrustedNote(loaded),
    ...(sources === undefined ? [] : [sources]),
    ...rulesNotes(rules),
    ...idleNote(allowedTools),
  ]
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
  const idle = findIdleRules(rules)
  if (idle.length === 0) return []
  return [
    `--allowed-tools ${idle.join(', ')} lets nothing through: name the commands, as in Bash(npm test) or Bash(npm run:*).`,
  ]
}
