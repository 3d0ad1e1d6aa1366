import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Vendor, vendorIn, vendorOf } from '../../../domain/agents/vendors.ts'

type Agent = { kind: string; name: string; command?: readonly string[] | undefined }

/**
 * Whose allowance a session uses: a hash of vendor, address and credential, so that a limit met by one session holds back
 * the others of the same account, and none of another vendor's. The credential itself is never kept.
 */
export function accountOf(agent: Agent, env: Record<string, string>): string {
  const vendor = vendorIn(agent.kind, env)
  // Of a program of the person's own only its command says whose it is: `node` is the name of every script.
  const tag = agent.kind === 'custom' ? ['custom', ...(agent.command ?? [agent.name])] : vendor.tag
  return hashed(tag, vendor, env)
}

/** What earlier versions called the same account: a session of theirs goes on, under the name of today. */
export function formerAccounts(agent: Agent, env: Record<string, string>): string[] {
  const vendor = vendorOf(agent.kind)
  const tag = agent.kind === 'custom' ? `custom ${agent.name}` : vendor.tag
  return [hashed(tag, vendor, env)]
}

function hashed(tag: string | string[], vendor: Vendor, env: Record<string, string>): string {
  const address = vendor.addresses.map(name => env[name]).find(Boolean) ?? 'standard'
  const hash = createHash('sha256').update(JSON.stringify([tag, address, credentialOf(vendor, env)]))
  return hash.digest('hex').slice(0, 16)
}

/** A stored login is named by the place it is stored in: one config directory holds one. */
function credentialOf({ credentials, login }: Vendor, env: Record<string, string>): string {
  for (const [name] of credentials) {
    if (env[name]) return env[name]
  }
  return `login in ${env[login.variable] ?? join(env['HOME'] ?? '', login.folder)}`
}
