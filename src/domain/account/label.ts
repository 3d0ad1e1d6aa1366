/** An account in words, without any secret: agent, host of the address, kind of credential. */
export function accountLabel(agent: string, env: Record<string, string | undefined>): string {
  return `${agent} · ${vendorHost(env)} · ${credentialKind(env)}`
}

const KINDS = [
  ['ANTHROPIC_API_KEY', 'API key'],
  ['ANTHROPIC_AUTH_TOKEN', 'bearer token'],
  ['CLAUDE_CODE_OAUTH_TOKEN', 'subscription token'],
] as const

/** Where the vendor is called. Only the host: an address may carry a password or a token in its other parts. */
export function vendorHost(env: Record<string, string | undefined>): string {
  if (env['CLAUDE_CODE_USE_BEDROCK']) return 'Bedrock'
  if (env['CLAUDE_CODE_USE_VERTEX']) return 'Vertex'
  const address = env['ANTHROPIC_BASE_URL']
  if (!address) return 'api.anthropic.com'
  return (URL.canParse(address) && new URL(address).host) || 'another address'
}

function credentialKind(env: Record<string, string | undefined>): string {
  const kind = KINDS.find(([name]) => env[name])?.[1]
  if (kind) return kind
  const [home, place] = [env['HOME'], env['CLAUDE_CONFIG_DIR']]
  if (!place) return 'login in ~/.claude'
  return `login in ${home && place.startsWith(`${home}/`) ? `~${place.slice(home.length)}` : place}`
}
