import { execFile } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { isHeldEnough } from '../../agents/held-enough.ts'
import { MANIFESTS, manifestOf } from '../../agents/manifests/manifests.ts'
import { sandboxNeeded } from '../../agents/sandbox/needed.ts'
import { messageOf } from '../../base/errors.ts'
import { findProgram, installedProgram } from '../../base/process/find-program.ts'
import type { AgentChoice } from '../../domain/agents/choice.ts'
import { chooseAgent } from '../../domain/agents/choose.ts'
import { AGENT_KINDS, type AgentManifest } from '../../domain/agents/manifest.ts'
import { environmentFor } from '../../domain/agents/vendors.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'

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

export interface Surveyed {
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
export async function surveyAgents({ loaded, env, directory, starts }: Surveyed): Promise<FoundAgent[]> {
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
      const manifest = manifestOf(agent)
      const sandboxed = await isSandboxed(manifest, config.agents.sandbox)
      const program = await programOf(agent, { loaded, env })
      const own = environmentFor(agent.kind, env, config.agents.env)
      return {
        ...{ agent, manifest, isUsual: agent === usual },
        ...{ sandboxed, unattended: isHeldEnough({ agent, manifest, allowed, custom, sandboxed }) },
        ...(program !== undefined && { program, ...(await versionOf(program, { agent, env: own, starts })) }),
      }
    }),
  )
}

/** One that is required and not there is told when a session starts. */
async function isSandboxed(manifest: AgentManifest, mode: Parameters<typeof sandboxNeeded>[1]): Promise<boolean> {
  try {
    return (await sandboxNeeded(manifest, mode)) !== undefined
  } catch {
    return false
  }
}

async function programOf(
  { kind, command }: AgentChoice,
  { loaded, env }: Pick<Surveyed, 'loaded' | 'env'>,
): Promise<string | undefined> {
  if (kind !== 'claude' || command) {
    const [program = kind === 'custom' ? '' : MANIFESTS[kind].start.command] = command ?? []
    return installedProgram(program, env)
  }
  const { path } = loaded.config.agents
  if (path !== undefined) return findProgram(path, env)
  const { bundledProgram } = await import('../../agents/claude/program.ts')
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
