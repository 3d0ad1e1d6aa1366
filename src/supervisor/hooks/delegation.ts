import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { HookAnswer, HookEventOf } from '../../domain/hooks.ts'
import { readToolUse } from '../../policy/classify/tool-use.ts'
import type { RoleProfile } from '../../policy/layers.ts'
import {
  type AgentRole,
  delegationText,
  parseRole,
  readDelegationFile,
  readRoleMarker,
  STATE_FOLDER,
  writeDelegationFile,
} from './delegation-state.ts'
import type { HookSettings } from './hook-settings.ts'
import type { AnswerEvent, HookContext } from './router.ts'
import { changeSessionNotes, readSessionNotes, shortHash } from './session-notes.ts'

export interface DelegationDeps {
  /** The preset of a role, whose numbers count before those of the settings. */
  profile?(role: string, context: HookContext): Promise<RoleProfile | undefined>
}

type ToolEvent = HookEventOf<'tool_before'> | HookEventOf<'tool_after'>
type DelegationSettings = HookSettings['delegation']

/**
 * Keeps agents that lead others from doing the work themselves. Who leads says `AGENT_ROLE`, or for a subagent its type; a marker
 * in the project counts where neither does, and without one nobody is held to anything. Calls that change something or run
 * something are counted since the last delegation: from `warn` on the agent is told, from `block` on they are refused.
 */
export function holdLeaders(deps: DelegationDeps): AnswerEvent<'tool_before' | 'tool_after'> {
  return async (event, context) => {
    const role = await findRole(event, context)
    if (role === undefined || role === 'musician') return undefined
    const { delegation } = await context.settings()
    if (role === 'section-leader' && delegation.tiers !== 'three') return undefined
    const profile = await deps.profile?.(role, context).catch(error => {
      context.log.warn({ error }, 'the preset of a role cannot be used')
      return undefined
    })
    const { warn = delegation.warn, block = delegation.block } = profile ?? {}
    const leader = { role, delegation: { ...delegation, warn, block } }
    return event.kind === 'tool_before' ? judgeCall(event, context, leader) : warnAfter(event, context, leader)
  }
}

/** The rank of who makes the call. A subagent is what work was delegated to, unless its type says that it leads others. */
async function findRole(event: ToolEvent, { env, project }: HookContext): Promise<AgentRole | undefined> {
  if (event.agent_id !== undefined) return parseRole(event.agent_type) ?? 'musician'
  return parseRole(env['AGENT_ROLE']) ?? (await readRoleMarker(project, event.session))
}

interface Leader {
  role: AgentRole
  delegation: DelegationSettings
}

async function judgeCall(
  event: HookEventOf<'tool_before'>,
  { paths, project }: HookContext,
  { role, delegation }: Leader,
): Promise<Partial<HookAnswer> | undefined> {
  const kind = kindOfCall(event, project, delegation)
  if (kind === 'other') return undefined
  if (kind === 'state') return { decision: 'deny', reason: `${STATE_FOLDER} is kept by pcc. Leave it as it is.` }
  const agent = event.agent_id ?? 'main'
  const { count, problem } = await changeSessionNotes(paths, event, async notes => {
    const before = notes.delegation[agent]
    const found = await readDelegationFile(project, event, agent)
    const isChanged = before !== undefined && (found === undefined || shortHash(found) !== before.digest)
    const after = kind === 'delegates' ? 0 : Math.min((before?.count ?? 0) + 1, delegation.block)
    const text = delegationText(event, agent, { role, count: after })
    notes.delegation[agent] = { count: after, digest: shortHash(text) }
    const isWritten = await writeDelegationFile(project, { key: event, agent, text })
    return { count: after, problem: findProblem({ isChanged, isMissing: found === undefined, isWritten }) }
  })
  const notice = problem === undefined ? {} : { notice: `pcc: ${problem}` }
  if (count < delegation.block) return problem === undefined ? undefined : notice
  return { decision: 'deny', reason: refusal(role, delegation), ...notice }
}

function findProblem(state: { isChanged: boolean; isMissing: boolean; isWritten: boolean }): string | undefined {
  const kept = 'The count goes on from the copy under your home.'
  if (!state.isWritten)
    return `${STATE_FOLDER} cannot be written, or is behind a link. The count is kept under your home only.`
  if (!state.isChanged) return undefined
  return state.isMissing
    ? `The state of the delegation is missing from ${STATE_FOLDER}. ${kept}`
    : `The state of the delegation in ${STATE_FOLDER} was changed by somebody else. ${kept}`
}

/** After a call that was counted, the agent is told how many are left. */
async function warnAfter(
  event: HookEventOf<'tool_after'>,
  { paths, project }: HookContext,
  { role, delegation }: Leader,
): Promise<Partial<HookAnswer> | undefined> {
  if (kindOfCall(event, project, delegation) !== 'work') return undefined
  const notes = await readSessionNotes(paths, event)
  const count = notes.delegation[event.agent_id ?? 'main']?.count ?? 0
  const left = Math.max(0, delegation.block - 1 - count)
  if (count < delegation.warn || count >= delegation.block) return undefined
  const more = left === 0 ? 'The next one is refused.' : `${left} more are possible.`
  return {
    context: `You are the ${describe(role)}: you have made ${count} calls yourself since you last delegated. ${more} Hand the work to an agent.`,
  }
}

function refusal(role: AgentRole, { block }: DelegationSettings): string {
  return `You are the ${describe(role)} and have made ${block - 1} calls yourself since you last delegated. Hand this work to an agent (Agent or Task) with all that it needs to know; reading and searching stay possible.`
}

function describe(role: AgentRole): string {
  return role.replace('-', ' ')
}

/** Tools with which an agent hands work to another, in the vendors' own words where the policy has none. */
const DELEGATES = new Set(['Agent', 'Task', 'spawn_agent', 'delegate_to_agent'])

/** `work` counts, `delegates` starts the count anew, `state` is never allowed, and `other` reads or plans. */
function kindOfCall(
  { tool, input, cwd }: ToolEvent,
  project: string,
  { allow }: DelegationSettings,
): 'work' | 'delegates' | 'state' | 'other' {
  if (DELEGATES.has(tool)) return 'delegates'
  const use = readToolUse(tool, input)
  switch (use.does) {
    case 'write': {
      const path = realPath(resolve(cwd, use.path))
      const root = realPath(project)
      if (isInside(path, join(root, STATE_FOLDER))) return 'state'
      return isInside(path, root) && isAllowed(relative(root, path), allow) ? 'other' : 'work'
    }
    case 'command':
    case 'server':
    case 'unknown':
      return 'work'
    default:
      return 'other'
  }
}

function isAllowed(path: string, allow: readonly string[]): boolean {
  return allow.some(entry => (entry.endsWith('/') ? path.startsWith(entry) : path === entry))
}

/** Where a path leads, also if its last parts do not exist yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), basename(path))
  }
}
