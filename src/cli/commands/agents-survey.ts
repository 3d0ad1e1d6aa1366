import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundledProgram } from '../../agents/claude/bundled-program.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { problemOf, runShort } from '../../base/process/run-short.ts'
import { findNeededSandbox } from '../../base/sandbox/bubblewrap.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import type { AgentManifest, PermissionCoverage } from '../../domain/agent-manifest.ts'
import { AGENT_KINDS, AGENTS } from '../../domain/agents/agent-registry.ts'
import { canRunUnattended, findManifest } from '../../domain/agents/find-manifest.ts'
import { chooseAgent } from '../../domain/choose-agent.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import { environmentFor, loginFolder, vendorOf } from '../../domain/vendors.ts'
import { boxTable } from '../render/list-table.ts'
import { firstLine, type Terminal } from '../render/text.ts'
import { type DoctorFinding, ok, problem, warning } from './doctor-checks.ts'

/** An agent as it is installed on this machine, or not. */
export interface FoundAgent {
  agent: AgentChoice
  manifest: AgentManifest
  /** The path of its program; absent if it is not installed. */
  program?: string
  version?: string
  /** Why it cannot be used although its program is installed. */
  problem?: string
  /** Whether it is the default agent of a session. */
  isDefault: boolean
  /** Whether it may work with nobody watching. */
  unattended: boolean
  /** Whether it runs in a sandbox. */
  sandboxed: boolean
}

export interface SurveyOptions {
  loaded: LoadedConfig
  env: Record<string, string | undefined>
  directory: string
  /** Whether to start each program to get its version, even if a package file gives it. */
  starts: boolean
}

/** Generous, because an agent starts a whole runtime. */
const VERSION_TIMEOUT_MS = 20_000

/** Looks for every agent that pcc knows and for those of the user's settings. */
export async function surveyAgents({ loaded, env, directory, starts }: SurveyOptions): Promise<FoundAgent[]> {
  const { config, origin } = loaded
  const { custom, unattended: allowed } = config.agents
  const choose = (text: string, by: string) => chooseAgent({ text, origin: by, custom, directory })
  const defaultAgent = choose(config.agent.command, origin('agent.command'))
  const named = [...AGENT_KINDS, ...Object.keys(custom)].map(name =>
    name === defaultAgent.name ? defaultAgent : choose(name, 'settings'),
  )
  const all = named.includes(defaultAgent) ? named : [...named, defaultAgent]
  return Promise.all(
    all.map(async agent => {
      const manifest = findManifest(agent)
      const agentEnv = environmentFor(agent.kind, env, config.agents.env)
      const find = async () => {
        const program = findAgentProgram(agent, { start: manifest.start, loaded, env })
        return program === undefined
          ? {}
          : { program, ...(await readVersion(program, { agent, env: agentEnv, starts })) }
      }
      // Both may start a program.
      const [sandboxed, found] = await Promise.all([isSandboxed(manifest, config.agents.sandbox), find()])
      return {
        ...{ agent, manifest, isDefault: agent === defaultAgent },
        ...{ sandboxed, unattended: canRunUnattended({ agent, manifest, allowed, custom, sandboxed }) },
        ...found,
      }
    }),
  )
}

/** A sandbox that is required but missing counts as none here; it is reported when a session starts. */
async function isSandboxed(manifest: AgentManifest, mode: Parameters<typeof findNeededSandbox>[1]): Promise<boolean> {
  try {
    const found = await findNeededSandbox(manifest.name, mode)
    return found !== undefined && 'program' in found
  } catch {
    return false
  }
}

function findAgentProgram(
  { command }: AgentChoice,
  { start, loaded, env }: Pick<SurveyOptions, 'loaded' | 'env'> & Pick<AgentManifest, 'start'>,
): string | undefined {
  if (command || !start.bundled) return findProgram(command?.[0] ?? start.command, env)
  const { path } = loaded.config.agents
  if (path !== undefined) return findProgram(path, env)
  try {
    return bundledProgram()
  } catch {
    return undefined // reported as not installed, with how to get it
  }
}

/** A custom program is not started just to be listed: nobody knows what it does with `--version`. */
async function readVersion(
  program: string,
  { agent, env, starts }: { agent: AgentChoice; env: Record<string, string>; starts: boolean },
): Promise<{ version?: string; problem?: string }> {
  if (agent.kind === 'custom') return {}
  const packagedVersion = readPackagedVersion(program, AGENTS[agent.kind].package)
  if (packagedVersion !== undefined && !starts) return { version: packagedVersion }
  const limits = { timeoutMs: VERSION_TIMEOUT_MS, maxBytes: 1_000_000 }
  const result = await runShort({ command: program, args: ['--version'], cwd: process.cwd(), env, ...limits })
  const why = problemOf(result)
  if (why !== undefined) return { problem: `it does not run: ${why}` }
  const version = /\d+\.\d+\.\d+\S*/.exec(result.stdout)?.[0]
  return version === undefined ? { problem: 'it does not say its version' } : { version }
}

function readPackagedVersion(program: string, name: string | undefined): string | undefined {
  if (name === undefined) return undefined
  for (let folder = dirname(realpathSync(program)); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const content = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
      if (content['name'] === name && typeof content['version'] === 'string') return content['version']
    } catch {
      // This folder has no package.json, or not one of npm's.
    }
  }
  return undefined
}

/** Which calls of an agent pcc gates, as shown to a person. */
const COVERAGE_TEXT: Record<PermissionCoverage, string> = {
  'every-call': 'every call gated',
  writes: 'writes gated',
  observed: 'observed only',
}

const PROTOCOL_TEXT = { sdk: "the vendor's library", acp: 'ACP', 'app-server': 'its app-server' } as const
const PROGRAM_COLUMN = 1

/** The table of `pcc agents list`. */
export function agentTable(agents: FoundAgent[], terminal: Terminal): string[] {
  const rows = agents.map(found => [
    { text: `${firstLine(found.agent.name)}${found.isDefault ? ' *' : ''}` },
    found.program === undefined
      ? { text: 'not found', tone: 'dim' as const }
      : { text: firstLine(found.program), ...(found.problem !== undefined && { tone: 'red' as const }) },
    { text: describeVersion(found) },
    { text: PROTOCOL_TEXT[found.manifest.speaks] },
    {
      text: `${COVERAGE_TEXT[found.manifest.hold]}${found.sandboxed ? ', in a sandbox' : ''}${found.unattended ? '' : ', not alone'}`,
      ...(found.unattended ? {} : { tone: 'yellow' as const }),
    },
  ])
  return [
    ...boxTable({
      headings: ['Agent', 'Found', 'Version', 'Spoken to by', 'Held'],
      rows,
      terminal,
      giveWay: [[PROGRAM_COLUMN, 16]],
    }),
    '* is the default agent (agent.command). How to get the others: pcc agents doctor',
  ]
}

/** The installed version, and the versions that pcc was verified with if it is none of them. */
function describeVersion({ version, manifest: { verified } }: FoundAgent): string {
  if (version === undefined) return verified.length === 0 ? '–' : `(seen ${verified.join(', ')})`
  return verified.includes(version) ? version : `${version} (seen ${verified.join(', ')})`
}

/** An agent as `--json` prints it. */
export function agentJson(found: FoundAgent) {
  const { agent, manifest, program, version, problem, isDefault, unattended, sandboxed } = found
  return {
    name: agent.name,
    kind: agent.kind,
    usual: isDefault,
    program: program ?? null,
    version: version ?? null,
    seen_with: manifest.verified,
    problem: problem ?? null,
    spoken_to_by: manifest.speaks,
    hold: manifest.hold,
    held_by: manifest.heldBy,
    unattended,
    sandboxed,
    resumes: manifest.resume !== 'none',
    read_only: manifest.readOnly,
    limits: manifest.limits,
    falls_short: manifest.departs,
    quirks: manifest.quirks,
    install: manifest.start.install,
  }
}

type Env = Record<string, string | undefined>

/** What `pcc agents doctor` finds about one agent. Something missing is a problem for the default agent, otherwise a warning. */
export function agentFindings(found: FoundAgent, env: Env): DoctorFinding[] {
  const { agent, manifest, program, isDefault, version } = found
  const report = isDefault ? problem : warning
  const area = agent.name
  if (program === undefined) return [report(area, 'not found on your PATH', describeInstall(found))]
  if (found.problem !== undefined) return [report(area, `${program}: ${found.problem}`, describeInstall(found))]
  return [
    ok(area, `${version ?? 'unknown version'} at ${program}`),
    ...versionFindings(found),
    ...loginFindings(found, env),
    found.unattended
      ? ok(area, `${COVERAGE_TEXT[manifest.hold]}${found.sandboxed ? ', in a sandbox' : ''}: it may work alone`)
      : warning(
          area,
          `${COVERAGE_TEXT[manifest.hold]}: it does not work alone (${manifest.heldBy})`,
          `Let it, if you want: pcc config set agents.unattended ${agent.name}`,
        ),
  ]
}

function describeInstall({ agent, manifest }: FoundAgent): string {
  if (agent.kind === 'custom') return `Correct its command in [agents.custom.${agent.name}], or install it.`
  const { bundled, install } = manifest.start
  return bundled ? 'Install pcc again: npm i -g perpetualcc' : `Get it with: ${install}`
}

function versionFindings({ agent, manifest, version }: FoundAgent): DoctorFinding[] {
  if (version === undefined || manifest.verified.includes(version)) return []
  const seen = manifest.verified.join(', ')
  const says = `verified with ${seen}, and this is ${version}`
  return [warning(agent.name, says, `Watch it the first time, or install ${seen}.`)]
}

/** Checks only whether a credential is present; its content is not read. `pcc doctor` asks Claude Code itself. */
function loginFindings({ agent }: FoundAgent, env: Env): DoctorFinding[] {
  const vendor = vendorOf(agent.kind)
  if (vendor.login.folder === '') return []
  const variable = vendor.credentials.find(([name]) => env[name])
  if (variable) return [ok(agent.name, `logs in with ${variable[0]}`)]
  const folder = loginFolder(vendor, env)
  if (folder !== undefined && existsSync(join(folder, vendor.login.file)))
    return [ok(agent.name, `logs in with its credentials in ${folder}`)]
  const names = vendor.credentials.map(([name]) => name).join(' or ')
  return [warning(agent.name, 'no login and no API key found', `Set ${names}, or log in with the agent itself.`)]
}
