import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loginFolder, vendorOf } from '../domain/vendors.ts'

/**
 * Where an agent has its login from: a variable, its own file, or another place that only the agent can look into. Undefined if there
 * is none. Nothing is started, and no content of a login is read.
 */
export function findLogin(
  kind: string,
  env: Record<string, string>,
): { by: 'variable' | 'file' | 'elsewhere'; name: string } | undefined {
  const vendor = vendorOf(kind)
  const variable = vendor.credentials.find(([name]) => env[name])?.[0]
  if (variable !== undefined) return { by: 'variable', name: variable }
  const cloud = Object.keys(env).find(name => /_USE_(BEDROCK|VERTEX|FOUNDRY)/.test(name))
  if (cloud !== undefined) return { by: 'elsewhere', name: cloud }
  const folder = loginFolder(vendor, env)
  if (folder === undefined) return { by: 'elsewhere', name: 'a place of its own' }
  const file = join(folder, vendor.login.file)
  if (existsSync(file)) return { by: 'file', name: file }
  if (hasKeyHelper(folder)) return { by: 'elsewhere', name: 'apiKeyHelper' }
  return process.platform === 'darwin' ? { by: 'elsewhere', name: 'the keychain' } : undefined
}

function hasKeyHelper(folder: string): boolean {
  const file = join(folder, 'settings.json')
  return existsSync(file) && readFileSync(file, 'utf8').includes('"apiKeyHelper"')
}
