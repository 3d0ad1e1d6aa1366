import { hookTranslator } from '../../../agents/hooks/vendors.ts'
import { hookLauncher } from '../../../base/app-paths.ts'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { refreshLauncher } from '../../../daemon/hook-launcher.ts'
import { type ListenerAddress, readListener } from '../../../daemon/hook-listener.ts'
import { HOOK_VENDORS, type HookVendor } from '../../../domain/hooks.ts'
import { type LayerFile, listLayers } from '../../../policy/layers.ts'
import { trustedFile, trustStatus } from '../../../policy/trust/trust.ts'
import type { CommandContext } from '../../context.ts'
import { isChange, planUninstall } from './change-settings.ts'
import { isStrictJson } from './edit-json.ts'
import { ignoresComments, usesHttp, wantedChange } from './install.ts'
import { readInstalled } from './record.ts'
import { findVendorProgram, findVendors, type HookChoice, type HookFile, hookFile, ownHook } from './vendor-files.ts'

/** One settings file and whether our hooks are in it. `outdated`: another version of pcc wrote them, or somebody changed them. */
export interface HookState {
  scope: 'user' | 'project'
  file: string
  state: 'installed' | 'outdated' | 'absent' | 'unusable'
  over?: 'http'
  problem?: string
}

export interface AgentHooks {
  agent: HookVendor
  name: string
  /** The program on the PATH. */
  program: string | null
  files: HookState[]
}

/** `pcc hooks status`. */
export async function showHookStatus(choice: HookChoice, context: CommandContext): Promise<void> {
  const { env, json, out, paths } = context
  const launcher = refreshLauncher(paths, { env })
  const agents = await readAgents(choice, context)
  const layers = await readLayers(context)
  if (json) {
    out(JSON.stringify({ launcher: { path: hookLauncher(paths), state: launcher }, agents, layers }, null, 2))
    return
  }
  if (agents.length === 0) out('No agent was found here. Name one: pcc hooks install --claude')
  for (const line of agents.flatMap(agentLines)) out(neutral(line))
  const foreign = layers.filter(({ state }) => state !== 'counts')
  for (const { path, state, problem } of foreign)
    out(neutral(`${path}: ${LAYER_WORDS[state]}${problem ? `: ${problem}` : ''}`))
}

const LAYER_WORDS: Record<LayerFile['state'], string> = {
  counts: 'counts',
  hidden: 'the project has its own',
  untrusted: 'counts only after pcc trust',
  refused: 'cannot be used',
}

function agentLines({ name, files }: AgentHooks): string[] {
  const there = files.filter(({ state }) => state !== 'absent')
  if (there.length === 0) return [`${name}: no hooks of pcc`]
  return there.map(({ scope, file, state, over, problem }) => {
    const how = over === 'http' ? ', over HTTP' : ''
    return `${name}: ${STATE_WORDS[state]}${how} (${scope}: ${file})${problem === undefined ? '' : `: ${problem}`}`
  })
}

const STATE_WORDS: Record<HookState['state'], string> = {
  installed: 'hooks installed',
  outdated: 'hooks of another version of pcc, or changed since; write them again with pcc hooks install',
  absent: 'no hooks of pcc',
  unusable: 'settings cannot be used',
}

/** The agents that are chosen, or found, or have hooks of ours. */
export async function readAgents({ vendors, scope }: HookChoice, context: CommandContext): Promise<AgentHooks[]> {
  const { env, paths } = context
  const listener = readListener(paths)
  const recorded = readInstalled(paths).files
  const found = findVendors(env)
  const shown = HOOK_VENDORS.filter(vendor =>
    vendors.length > 0
      ? vendors.includes(vendor)
      : found.includes(vendor) || recorded.some(file => file.vendor === vendor),
  )
  return Promise.all(
    shown.map(async agent => {
      const scopes = scope === undefined ? (['user', 'project'] as const) : [scope]
      const files = scopes.map(at => hookFile(agent, { scope: at, env, project: process.cwd() }))
      return {
        ...{ agent, name: hookTranslator(agent).manifest.name, program: findVendorProgram(agent, env) ?? null },
        files: await Promise.all(files.map(file => readState(file, context, listener))),
      }
    }),
  )
}

async function readState(
  file: HookFile,
  { paths }: CommandContext,
  listener: ListenerAddress | undefined,
): Promise<HookState> {
  const state = { scope: file.scope, file: file.path }
  const isOurs = ownHook(paths, listener?.port)
  try {
    const planned = planUninstall(file, { paths, isOurs })
    if (!isChange(planned)) return { ...state, state: 'absent' }
    const isCurrent = !isChange((await wantedChange(file, { paths, listener }))())
    const over = usesHttp(file, listener) ? { over: 'http' as const } : {}
    const { manifest } = hookTranslator(file.vendor)
    const isIgnored = !manifest.comments && !isStrictJson(planned.found.text)
    const problem = isIgnored ? { problem: ignoresComments(manifest, file.path) } : {}
    return { ...state, state: isCurrent ? 'installed' : 'outdated', ...over, ...problem }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...state, state: 'unusable', problem: error.message }
  }
}

/** Policies, profiles and files for tools: which of them count in this directory. */
async function readLayers({ paths }: CommandContext): Promise<LayerFile[]> {
  const project = process.cwd()
  return listLayers({ paths, project, trusted: trustedFile(await trustStatus(paths, project)) })
}
