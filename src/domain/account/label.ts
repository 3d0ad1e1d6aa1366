import { vendorOf } from '../agents/vendors.ts'

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
