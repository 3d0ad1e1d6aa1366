import { AppError } from '../base/errors.ts'
import { agentEnvironment, COMMON_AGENT_ENV, STANDARD_AGENT_ENV } from './agent-env.ts'
import type { AnyAgentKind } from './agent-manifest.ts'

/** The vendor whose model an agent calls: which variables its agents get, and how its account is recognised. */
export interface Vendor {
  /** Part of the account's name: two agents of one vendor share a login, and with it a limit. */
  tag: string
  /** Variables that are passed on to its agents. */
  env: readonly string[]
  /** Variables that override the vendor's address. */
  addresses: readonly string[]
  host: string
  /** Variables that hold a credential, the one with precedence first, and what kind it is. */
  credentials: readonly (readonly [name: string, what: string])[]
  /** Where a login is stored: in the directory that the variable names, or else in the folder of the home directory; in which file; and the command that makes one. */
  login: {
    variable: string
    /** A folder below the directory that the variable names. */
    below?: string
    folder: string
    file: string
    command: string
  }
}

const ANTHROPIC: Vendor = {
  tag: 'claude',
  env: STANDARD_AGENT_ENV,
  addresses: ['ANTHROPIC_BASE_URL'],
  host: 'api.anthropic.com',
  credentials: [
    ['ANTHROPIC_API_KEY', 'API key'],
    ['ANTHROPIC_AUTH_TOKEN', 'bearer token'],
    ['CLAUDE_CODE_OAUTH_TOKEN', 'subscription token'],
  ],
  login: {
    ...{ variable: 'CLAUDE_CONFIG_DIR', folder: '.claude', file: '.credentials.json' },
    command: 'pcc agents login',
  },
}

/** Named one by one, as for Claude Code, because other variables of it change what it asks about. */
const GOOGLE: Vendor = {
  tag: 'gemini',
  env: [
    'GEMINI_API_KEY',
    'GEMINI_MODEL',
    'GEMINI_CLI_HOME',
    'GOOGLE_API_KEY',
    'GOOGLE_GEMINI_BASE_URL',
    'GOOGLE_VERTEX_BASE_URL',
    'GOOGLE_GENAI_USE_VERTEXAI',
    'GOOGLE_GENAI_USE_GCA',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_APPLICATION_CREDENTIALS if GOOGLE_GENAI_USE_VERTEXAI',
  ],
  addresses: ['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL'],
  host: 'generativelanguage.googleapis.com',
  credentials: [
    ['GEMINI_API_KEY', 'API key'],
    ['GOOGLE_API_KEY', 'API key'],
  ],
  login: {
    ...{ variable: 'GEMINI_CLI_HOME', below: '.gemini', folder: '.gemini', file: 'oauth_creds.json' },
    command: 'gemini (it asks how at its first start)',
  },
}

const OPENAI: Vendor = {
  tag: 'codex',
  env: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_ORGANIZATION', 'OPENAI_PROJECT', 'CODEX_API_KEY', 'CODEX_HOME'],
  addresses: ['OPENAI_BASE_URL'],
  host: 'api.openai.com',
  credentials: [
    ['CODEX_API_KEY', 'API key'],
    ['OPENAI_API_KEY', 'API key'],
  ],
  login: { variable: 'CODEX_HOME', folder: '.codex', file: 'auth.json', command: 'codex login' },
}

/** opencode calls the vendor for which it is configured; its account is recognised by the first of these credentials. */
const MANY: Vendor = {
  tag: 'opencode',
  env: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'GEMINI_API_KEY',
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'OPENROUTER_API_KEY',
    'OPENCODE_API_KEY',
    'OPENCODE_CONFIG',
    'OPENCODE_MODEL',
  ],
  addresses: [],
  host: 'the vendor it is set up for',
  credentials: [
    ['OPENCODE_API_KEY', 'API key'],
    ['ANTHROPIC_API_KEY', 'API key'],
    ['OPENAI_API_KEY', 'API key'],
    ['OPENROUTER_API_KEY', 'API key'],
    ['GEMINI_API_KEY', 'API key'],
    ['GOOGLE_GENERATIVE_AI_API_KEY', 'API key'],
  ],
  login: {
    ...{ variable: 'XDG_DATA_HOME', below: 'opencode', folder: '.local/share/opencode', file: 'auth.json' },
    command: 'opencode auth login',
  },
}

const UNKNOWN: Vendor = {
  tag: 'custom',
  env: [],
  addresses: [],
  host: 'its own vendor',
  credentials: [],
  login: { variable: '', folder: '', file: '', command: '' },
}

const VENDOR_OF: Record<AnyAgentKind, Vendor> = {
  claude: ANTHROPIC,
  'claude-acp': ANTHROPIC,
  gemini: GOOGLE,
  codex: OPENAI,
  opencode: MANY,
  custom: UNKNOWN,
}

/** The vendor of a kind of agent; an unknown one for any other name. */
export function vendorOf(kind: string): Vendor {
  return Object.hasOwn(VENDOR_OF, kind) ? VENDOR_OF[kind as AnyAgentKind] : UNKNOWN
}

/** The vendor whose allowance an agent uses. An agent for many vendors that has the key of a single one uses that vendor's, as that vendor's own agents do. */
export function vendorIn(kind: string, env: Record<string, string | undefined>): Vendor {
  const vendor = vendorOf(kind)
  if (vendor !== MANY) return vendor
  const [name, ...more] = MANY.credentials.map(([variable]) => variable).filter(variable => env[variable])
  if (name === undefined || more.length > 0) return vendor
  return (
    [ANTHROPIC, GOOGLE, OPENAI].find(({ credentials }) => credentials.some(([variable]) => variable === name)) ?? vendor
  )
}

/** Whether this agent understands the model names in the settings (`models.*`) as they are. */
export function speaksClaude(kind: string): boolean {
  return vendorOf(kind) === ANTHROPIC
}

/**
 * The part of an environment that an agent gets. Claude's variables are removed by name, however the list spells them: one list
 * serves all agents, and a key that is listed for Claude must not reach another vendor. opencode lists some of them as its own.
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
  const others = [GOOGLE, OPENAI, MANY].flatMap(({ env }) => env)
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
