import { AppError } from '../base/errors.ts'
import { agentEnvironment, COMMON_AGENT_ENV, STANDARD_AGENT_ENV } from './agent-env.ts'
import type { AnyAgentKind } from './agent-manifest.ts'

/** Whose model an agent calls, as its environment tells it: what travels to it, and by what its account is known. */
export interface Vendor {
  /** Stands in the name of an account: two agents of one vendor share a login, and with it a limit. */
  tag: string
  /** Variables that travel to its agents. */
  env: readonly string[]
  /** Variables that hold another address than the vendor's own. */
  addresses: readonly string[]
  host: string
  /** Variables that hold a credential, the one that counts first, and what it is. */
  credentials: readonly (readonly [name: string, what: string])[]
  /** Where a login is kept: under that variable, else there in the home directory; in which file of it. And how a person makes one. */
  login: {
    variable: string
    /** Below the place that the variable names. */
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

/** Named one by one, as for Claude Code: others of its variables change what it asks about. */
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

/** opencode calls whichever vendor it is set up for: its account is known by the first of these that is there. */
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

/** The vendor of a kind of agent; of a name that is none nothing is known. */
export function vendorOf(kind: string): Vendor {
  return Object.hasOwn(VENDOR_OF, kind) ? VENDOR_OF[kind as AnyAgentKind] : UNKNOWN
}

/** Whose allowance an agent uses. One that calls many vendors and has the key of a single one uses that one's, as its own agents do. */
export function vendorIn(kind: string, env: Record<string, string | undefined>): Vendor {
  const vendor = vendorOf(kind)
  if (vendor !== MANY) return vendor
  const [name, ...more] = MANY.credentials.map(([each]) => each).filter(each => env[each])
  if (name === undefined || more.length > 0) return vendor
  return [ANTHROPIC, GOOGLE, OPENAI].find(({ credentials }) => credentials.some(([each]) => each === name)) ?? vendor
}

/** Whether the names of models in the settings (`models.*`) are this agent's, as they come. */
export function speaksClaude(kind: string): boolean {
  return vendorOf(kind) === ANTHROPIC
}

/**
 * What of an environment an agent gets. Claude's variables are taken out by their names, however the list spells them: one list stands
 * for all agents, and a key that is named there for Claude is nobody else's. opencode names some of them as its own.
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

/** A cloud's own variables are not among them: who names those plainly may mean any agent. */
const CLAUDE_ONLY = [...ANTHROPIC.env.filter(pattern => !pattern.includes(' if ')), 'CLAUDE_*']

/**
 * Which variables travel to an agent, of those that `agents.env` names. An agent of another vendor is not given Claude's: what a
 * person has added to the list, and what every program needs to reach a network, it gets.
 */
export function patternsFor(kind: string, configured: readonly string[]): string[] {
  const vendor = vendorOf(kind)
  if (vendor === ANTHROPIC) return [...configured]
  const others = new Set(ANTHROPIC.env.filter(pattern => !COMMON_AGENT_ENV.includes(pattern)))
  return [...configured.filter(pattern => !others.has(pattern)), ...vendor.env]
}

/** The same for a session whose agent is known elsewhere: what any of them could need. */
export function patternsOfAll(configured: readonly string[]): string[] {
  const others = [GOOGLE, OPENAI, MANY].flatMap(({ env }) => env)
  return [...new Set([...configured, ...others])]
}

type Env = Record<string, string | undefined>

/** An account in words, without any secret: agent, host of the address, kind of credential. */
export function accountLabel(agent: string, env: Env): string {
  return `${agent} · ${vendorHost(env, agent)} · ${credentialKind(env, agent)}`
}

/** Where the vendor is called. Only the host: an address may carry a password or a token in its other parts. */
export function vendorHost(env: Env, agent = 'claude'): string {
  const { addresses, host } = vendorOf(agent)
  if (env['CLAUDE_CODE_USE_BEDROCK']) return 'Bedrock'
  if (env['CLAUDE_CODE_USE_VERTEX'] || env['GOOGLE_GENAI_USE_VERTEXAI'] === 'true') return 'Vertex'
  const address = addresses.map(name => env[name]).find(Boolean)
  if (!address) return host
  return (URL.canParse(address) && new URL(address).host) || 'another address'
}

function credentialKind(env: Env, agent: string): string {
  const { credentials, login } = vendorOf(agent)
  const kind = credentials.find(([name]) => env[name])?.[1]
  if (kind) return kind
  if (login.folder === '') return 'its own login'
  const [home, place] = [env['HOME'], env[login.variable]]
  if (!place) return `login in ~/${login.folder}`
  return `login in ${home && place.startsWith(`${home}/`) ? `~${place.slice(home.length)}` : place}`
}

/** An agent that is not logged in, with how its own vendor's login is made. */
export function notLoggedIn({ kind, name }: { kind: string; name: string }): AppError<'agent_not_logged_in'> {
  const { credentials, login } = vendorOf(kind)
  const variables = credentials.map(([variable]) => variable).join(' or ')
  return new AppError('agent_not_logged_in', {
    agent: name,
    login: login.command || 'the agent itself',
    variables: variables || 'the variable that it reads its key from, and name it in agents.env,',
  })
}
