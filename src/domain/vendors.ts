import { join } from 'node:path'
import { AppError } from '../base/errors.ts'
import { agentEnvironment, COMMON_AGENT_ENV } from './agent-env.ts'
import { AGENT_DEFINITIONS, AGENTS, isAgentKind } from './agents/agent-registry.ts'
import type { Vendor } from './agents/definition.ts'

const ANTHROPIC = AGENTS.claude.vendor
/** The vendors of all agents, each once. */
const VENDORS = [...new Set(AGENT_DEFINITIONS.map(({ vendor }) => vendor))]

const UNKNOWN: Vendor = {
  tag: 'custom',
  env: [],
  prefixes: [],
  addresses: [],
  host: 'its own vendor',
  credentials: [],
  login: { variable: '', folder: '', file: '', command: '' },
}

const VARIABLE = new RegExp(`^(${VENDORS.flatMap(({ prefixes }) => prefixes).join('|')})(_|$)`, 'i')

/** Whether a variable belongs to an agent or its vendor: it may hold a key, or say where the agent looks. */
export function isVendorVariable(name: string): boolean {
  return VARIABLE.test(name)
}

/** The vendor of a kind of agent; an unknown one for any other name. */
export function vendorOf(kind: string): Vendor {
  return isAgentKind(kind) ? AGENTS[kind].vendor : UNKNOWN
}

/** The vendor whose allowance an agent uses. An agent for many vendors that has the key of a single one uses that vendor's, as that vendor's own agents do. */
export function vendorIn(kind: string, env: Record<string, string | undefined>): Vendor {
  const vendor = vendorOf(kind)
  if (!vendor.isAny) return vendor
  const [name, ...more] = vendor.credentials.map(([variable]) => variable).filter(variable => env[variable])
  if (name === undefined || more.length > 0) return vendor
  return VENDORS.find(each => !each.isAny && each.credentials.some(([variable]) => variable === name)) ?? vendor
}

/** Whether this agent understands the model names in the settings (`models.*`) as they are. */
export function speaksClaude(kind: string): boolean {
  return vendorOf(kind) === ANTHROPIC
}

/**
 * The part of an environment that an agent gets. Claude's variables are removed by name, however the list spells them: one list
 * serves all agents, and a key that is listed for Claude must not reach another vendor. An agent for any vendor lists some of them as its own.
 */
export function environmentFor(
  kind: string,
  env: Record<string, string | undefined>,
  configured: readonly string[],
): Record<string, string> {
  const all = agentEnvironment(env, patternsFor(kind, configured))
  const vendor = vendorOf(kind)
  if (vendor === ANTHROPIC) return all
  const own = agentEnvironment(env, [...COMMON_AGENT_ENV, ...vendor.env])
  const claudes = agentEnvironment(env, CLAUDE_ONLY)
  return Object.fromEntries(Object.entries(all).filter(([name]) => name in own || !(name in claudes)))
}

/** Claude's own variables. Those of a cloud are not among them, because a person who lists them may mean any agent. */
const CLAUDE_ONLY = [...ANTHROPIC.env.filter(pattern => !pattern.includes(' if ')), 'CLAUDE_*']

/**
 * The patterns of `agents.env` that apply to an agent. An agent of another vendor does not get Claude's variables, but it gets
 * those that a person added to the list and those that every program needs to reach a network.
 */
export function patternsFor(kind: string, configured: readonly string[]): string[] {
  const vendor = vendorOf(kind)
  if (vendor === ANTHROPIC) return [...configured]
  const others = new Set(ANTHROPIC.env.filter(pattern => !COMMON_AGENT_ENV.includes(pattern)))
  return [...configured.filter(pattern => !others.has(pattern)), ...vendor.env]
}

/** The patterns for a session whose agent is chosen elsewhere: everything that any agent could need. */
export function patternsOfAll(configured: readonly string[]): string[] {
  const others = VENDORS.filter(vendor => vendor !== ANTHROPIC).flatMap(({ env }) => env)
  return [...new Set([...configured, ...others])]
}

type Env = Record<string, string | undefined>

/** A readable name of an account without any secret: agent, host of the address, kind of credential. */
export function accountLabel(agent: string, env: Env): string {
  return `${agent} · ${vendorHost(env, agent)} · ${describeCredential(env, agent)}`
}

/** The host of the vendor. Only the host, because an address may contain a password or a token in its other parts. */
export function vendorHost(env: Env, agent = 'claude'): string {
  const { addresses, host } = vendorOf(agent)
  if (env['CLAUDE_CODE_USE_BEDROCK']) return 'Bedrock'
  if (env['CLAUDE_CODE_USE_VERTEX'] || env['GOOGLE_GENAI_USE_VERTEXAI'] === 'true') return 'Vertex'
  const address = addresses.map(name => env[name]).find(Boolean)
  if (!address) return host
  return (URL.canParse(address) && new URL(address).host) || 'another address'
}

function describeCredential(env: Env, agent: string): string {
  const { credentials, login } = vendorOf(agent)
  const kind = credentials.find(([name]) => env[name])?.[1]
  if (kind) return kind
  if (login.folder === '') return 'its own login'
  const [home, folder] = [env['HOME'], env[login.variable]]
  if (!folder) return `login in ~/${login.folder}`
  return `login in ${home && folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder}`
}

/** The folder in which an agent keeps its login; undefined if it has none, or nobody knows the home. */
export function loginFolder({ login }: Vendor, env: Env): string | undefined {
  if (login.folder === '') return undefined
  const configured = env[login.variable]
  if (configured) return join(configured, login.below ?? '')
  return env['HOME'] === undefined ? undefined : join(env['HOME'], login.folder)
}

/** The error for an agent that is not logged in, with its vendor's login command. */
export function notLoggedIn({ kind, name }: { kind: string; name: string }): AppError<'agent_not_logged_in'> {
  const { credentials, login } = vendorOf(kind)
  const variables = credentials.map(([variable]) => variable).join(' or ')
  return new AppError('agent_not_logged_in', {
    agent: name,
    login: login.command || 'the agent itself',
    variables: variables || 'the variable that it reads its key from, and name it in agents.env,',
  })
}
