import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Vendor } from './agents/definition.ts'
import { vendorIn, vendorOf } from './vendors.ts'

type Agent = { kind: string; name: string; command?: readonly string[] | undefined }

/**
 * The account of a session: a hash of vendor, address and credential. A limit that one session meets holds back the others of
 * the same account, and no session of another vendor. The credential itself is never kept.
 */
export function accountOf(agent: Agent, env: Record<string, string>): string {
  const vendor = vendorIn(agent.kind, env)
  // A custom agent is identified by its whole command: its name may be `node`, as for every script.
  const tag = agent.kind === 'custom' ? ['custom', ...(agent.command ?? [agent.name])] : vendor.tag
  return hashAccount(tag, vendor, env)
}

/** The ids that earlier versions gave to the same account: their sessions go on under today's id. */
export function formerAccounts(agent: Agent, env: Record<string, string>): string[] {
  const vendor = vendorOf(agent.kind)
  const tag = agent.kind === 'custom' ? `custom ${agent.name}` : vendor.tag
  return [hashAccount(tag, vendor, env)]
}

function hashAccount(tag: string | string[], vendor: Vendor, env: Record<string, string>): string {
  const address = vendor.addresses.map(name => env[name]).find(Boolean) ?? 'standard'
  const hash = createHash('sha256').update(JSON.stringify([tag, address, credentialOf(vendor, env)]))
  return hash.digest('hex').slice(0, 16)
}

/** A stored login is identified by its directory: one config directory holds one login. */
function credentialOf({ credentials, login }: Vendor, env: Record<string, string>): string {
  for (const [name] of credentials) {
    if (env[name]) return env[name]
  }
  return `login in ${env[login.variable] ?? join(env['HOME'] ?? '', login.folder)}`
}
