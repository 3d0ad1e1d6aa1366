import { createHash } from 'node:crypto'
import { join } from 'node:path'

/**
 * Whose allowance a session uses: a hash of vendor, address and credential, so that a limit met by one session holds back
 * the others of the same account. The credential itself is never kept.
 */
export function accountOf(agent: string, env: Record<string, string>): string {
  const address = env['ANTHROPIC_BASE_URL'] ?? 'standard'
  const hash = createHash('sha256').update(JSON.stringify([agent, address, credentialOf(env)]))
  return hash.digest('hex').slice(0, 16)
}

/** A stored login is named by the place it is stored in: one config directory holds one. */
function credentialOf(env: Record<string, string>): string {
  for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN']) {
    if (env[name]) return env[name]
  }
  return `login in ${env['CLAUDE_CONFIG_DIR'] ?? join(env['HOME'] ?? '', '.claude')}`
}
