import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type AccountGate, faultOf } from '../../domain/limit.ts'
import { loginFolder, vendorOf } from '../../domain/vendors.ts'
import type { SessionRow } from '../../store/tables.ts'
import { chosenAgent } from '../context.ts'

/**
 * Whether the agent's stored login was written since the account was closed: the person has logged in again, so the account can be
 * tried at once. One `stat`; the content is never read. A login that is not in a file is found by the tries alone.
 */
export async function hasNewLogin(
  gate: AccountGate,
  waiting: readonly SessionRow[],
  envOf: (session: string) => Record<string, string>,
): Promise<boolean> {
  const row = waiting.find(({ account }) => account === gate.account)
  if (!row || faultOf(gate) !== 'login' || gate.closed_at === null) return false
  const vendor = vendorOf(chosenAgent(row).kind)
  const folder = loginFolder(vendor, envOf(row.id))
  const stats = folder === undefined ? undefined : await stat(join(folder, vendor.login.file)).catch(() => undefined)
  return stats !== undefined && stats.mtimeMs > gate.closed_at
}
