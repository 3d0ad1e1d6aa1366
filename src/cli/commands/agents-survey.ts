import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { canRunUnattended, findManifest, MANIFESTS } from '../../agents/manifests/manifests.ts'
import { findNeededSandbox } from '../../agents/sandbox/bubblewrap.ts'
import { messageOf } from '../../base/errors.ts'
import { findInstalledProgram, findProgram } from '../../base/process/find-program.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import { AGENT_KINDS, type AgentManifest, type PermissionCoverage } from '../../domain/agent-manifest.ts'
import { chooseAgent } from '../../domain/choose-agent.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import { environmentFor, type Vendor, vendorOf } from '../../domain/vendors.ts'
import { boxTable } from '../render/list-table.ts'
import { firstLine, type Terminal } from '../render/text.ts'
import { type DoctorFinding, ok, problem, warning } from './doctor-checks.ts'

/** One agent as it is found on this machine. */
export interface FoundAgent {
  agent: AgentChoice
  manifest: AgentManifest
  /** Where its program lies; absent where it is not found. */
  program?: string
  version?: string
  /** Why it cannot be used, where its program is there. */
  problem?: string
  /** It is the one that a session gets where nobody says anything. */
  isUsual: boolean
  /** Whether it may work with nobody watching. */
  unattended: boolean
  /** Whether a sandbox stands around it. */
  sandboxed: boolean
}

export interface SurveyOptions {
  loaded: LoadedConfig
  env: Record<string, string | undefined>
  directory: string
  /** Starts each program to hear its version, where a file tells it too. */
  starts: boolean
}

const run = promisify(execFile)
/** An agent starts a whole runtime. */
const PATIENCE_MS = 20_000

/** Looks for every agent that is known and for those of the person's own settings. */
export async function surveyAgents({ loaded, env, directory, starts }: SurveyOptions): Promise<FoundAgent[]> {
  const { config, origin } = loaded
  const { custom, unattended: allowed } = config.agents
  const choose = (text: string, by: string) => chooseAgent({ text, origin: by, custom, directory })
  const usual = choose(config.agent.command, origin('agent.command'))
  const known = [...AGENT_KINDS, ...Object.keys(custom)].map(name =>
    name === usual.name ? usual : choose(name, 'settings'),
  )
  const all = known.includes(usual) ? known : [...known, usual]
  return Promise.all(
    all.map(async agent => {
      const manifest = findManifest(agent)
      const sandboxed = await isSandboxed(manifest, config.agents.sandbox)
      const program = await programOf(agent, { loaded, env })
      const own = environmentFor(agent.kind, env, config.agents.env)
      return {
        ...{ agent, manifest, isUsual: agent === usual },
        ...{ sandboxed, unattended: canRunUnattended({ agent, manifest, allowed, custom, sandboxed }) },
        ...(program !== undefined && { program, ...(await versionOf(program, { agent, env: own, starts })) }),
      }
    }),
  )
}

/** One that is required and not there is told when a session starts. */
async function isSandboxed(manifest: AgentManifest, mode: Parameters<typeof findNeededSandbox>[1]): Promise<boolean> {
  try {
    return (await findNeededSandbox(manifest, mode)) !== undefined
  } catch {
    return false
  }
}

async function programOf(
  { kind, command }: AgentChoice,
  { loaded, env }: Pick<SurveyOptions, 'loaded' | 'env'>,
): Promise<string | undefined> {
  if (kind !== 'claude' || command) {
    const [program = kind === 'custom' ? '' : MANIFESTS[kind].start.command] = command ?? []
    return findInstalledProgram(program, env)
  }
  const { path } = loaded.config.agents
  if (path !== undefined) return findProgram(path, env)
  const { bundledProgram } = await import('../../agents/claude/options.ts')
  try {
    return bundledProgram()
  } catch {
    return undefined // told as not found, with how to get it
  }
}

/** Names of the packages in which agents come: their version stands beside the program. */
const PACKAGES: Partial<Record<AgentChoice['kind'], string>> = {
  'claude-acp': '@agentclientprotocol/claude-agent-acp',
  gemini: '@google/gemini-cli',
  codex: '@openai/codex',
  opencode: 'opencode-ai',
}

/** A program of the person's own is not started just to be listed: nobody knows what it does with the question. */
async function versionOf(
  program: string,
  { agent, env, starts }: { agent: AgentChoice; env: Record<string, string>; starts: boolean },
): Promise<{ version?: string; problem?: string }> {
  if (agent.kind === 'custom') return {}
  const packaged = packagedVersion(program, PACKAGES[agent.kind])
  if (packaged !== undefined && !starts) return { version: packaged }
  try {
    const asked = run(program, ['--version'], { timeout: PATIENCE_MS, env })
    asked.child.stdin?.end()
    const said = /\d+\.\d+\.\d+\S*/.exec((await asked).stdout)?.[0]
    return said === undefined ? { problem: 'it does not say its version' } : { version: said }
  } catch (error) {
    return { problem: `it does not run: ${messageOf(error).split('\n')[0]}` }
  }
}

function packagedVersion(program: string, name: string | undefined): string | undefined {
  if (name === undefined) return undefined
  for (let folder = dirname(realpathSync(program)); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
      if (found['name'] === name && typeof found['version'] === 'string') return found['version']
    } catch {
      // There is none in this folder, or it is not one of npm's.
    }
  }
  return undefined
}

/** What an agent is held to, for a person. */
const HELD: Record<PermissionCoverage, string> = {
  'every-call': 'every call gated',
  writes: 'writes gated',
  observed: 'observed only',
}

const SPOKEN = { sdk: "the vendor's library", acp: 'ACP', 'app-server': 'its app-server' } as const
const PROGRAM = 1

/** The table of `pcc agents list`. */
export function agentTable(agents: FoundAgent[], terminal: Terminal): string[] {
  const rows = agents.map(found => [
    { text: `${firstLine(found.agent.name)}${found.isUsual ? ' *' : ''}` },
    found.program === undefined
      ? { text: 'not found', tone: 'dim' as const }
      : { text: firstLine(found.program), ...(found.problem !== undefined && { tone: 'red' as const }) },
    { text: versionWords(found) },
    { text: SPOKEN[found.manifest.speaks] },
    {
      text: `${HELD[found.manifest.hold]}${found.sandboxed ? ', in a sandbox' : ''}${found.unattended ? '' : ', not alone'}`,
      ...(found.unattended ? {} : { tone: 'yellow' as const }),
    },
  ])
  return [
    ...boxTable({
      headings: ['Agent', 'Found', 'Version', 'Spoken to by', 'Held'],
      rows,
      terminal,
      giveWay: [[PROGRAM, 16]],
    }),
    '* is used where nothing else is said (agent.command). How to get the others: pcc agents doctor',
  ]
}

/** The version that is there, beside those with which everything was seen to hold. */
function versionWords({ version, manifest: { verified } }: FoundAgent): string {
  if (version === undefined) return verified.length === 0 ? '–' : `(seen ${verified.join(', ')})`
  return verified.includes(version) ? version : `${version} (seen ${verified.join(', ')})`
}

/** As `--json` prints it. */
export function agentJson(found: FoundAgent) {
  const { agent, manifest, program, version, problem, isUsual, unattended, sandboxed } = found
  return {
    name: agent.name,
    kind: agent.kind,
    usual: isUsual,
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

/** What `pcc agents doctor` says of one agent: only of the one that is used is it a problem that something is missing. */
export function agentFindings(found: FoundAgent, env: Env): DoctorFinding[] {
  const { agent, manifest, program, isUsual, version } = found
  const bad = isUsual ? problem : warning
  const area = agent.name
  if (program === undefined) return [bad(area, 'not found on your PATH', getIt(found))]
  if (found.problem !== undefined) return [bad(area, `${program}: ${found.problem}`, getIt(found))]
  return [
    ok(area, `${version ?? 'of an unknown version'} at ${program}`),
    ...versionFindings(found),
    ...loginFindings(found, env),
    found.unattended
      ? ok(area, `${HELD[manifest.hold]}${found.sandboxed ? ', in a sandbox' : ''}: it may work alone`)
      : warning(
          area,
          `${HELD[manifest.hold]}: it does not work alone (${manifest.heldBy})`,
          `Let it, if you want: pcc config set agents.unattended ${agent.name}`,
        ),
  ]
}

function getIt({ agent, manifest }: FoundAgent): string {
  if (agent.kind === 'custom') return `Correct its command in [agents.custom.${agent.name}], or install it.`
  const { install } = manifest.start
  return agent.kind === 'claude' ? 'Install pcc again: npm i -g perpetualcc' : `Get it with: ${install}`
}

function versionFindings({ agent, manifest, version }: FoundAgent): DoctorFinding[] {
  if (version === undefined || manifest.verified.includes(version)) return []
  const seen = manifest.verified.join(', ')
  const says = `seen to hold with ${seen}, and this is ${version}`
  return [warning(agent.name, says, `Watch it the first time, or install ${seen}.`)]
}

/** Only whether there is something to log in with; nothing of it is read. `pcc doctor` asks Claude Code itself. */
function loginFindings({ agent }: FoundAgent, env: Env): DoctorFinding[] {
  const vendor = vendorOf(agent.kind)
  if (vendor.login.folder === '') return []
  const variable = vendor.credentials.find(([name]) => env[name])
  if (variable) return [ok(agent.name, `logs in with ${variable[0]}`)]
  const folder = loginFolder(vendor, env)
  if (folder !== undefined && existsSync(join(folder, vendor.login.file)))
    return [ok(agent.name, `logs in with what it keeps in ${folder}`)]
  const names = vendor.credentials.map(([name]) => name).join(' or ')
  return [
    warning(agent.name, 'nothing is seen that it could log in with', `Set ${names}, or log in with the agent itself.`),
  ]
}

function loginFolder({ login }: Vendor, env: Env): string | undefined {
  const moved = env[login.variable]
  if (moved) return join(moved, login.below ?? '')
  const home = env['HOME']
  return home === undefined ? undefined : join(home, login.folder)
}
