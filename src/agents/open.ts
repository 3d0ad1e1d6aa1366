import { AppError } from '../base/errors.ts'
import type { Driver } from '../domain/session.ts'
import type { AcpDriverOptions } from './acp/driver.ts'
import { isAgentKind, MANIFESTS } from './manifests/manifests.ts'

/** The driver of an agent by name. A vendor's library is imported here, on use: Claude Code's takes 37 MB. */
export async function openDriver(agent: string, options: AcpDriverOptions = {}): Promise<Driver> {
  const manifest = isAgentKind(agent) ? MANIFESTS[agent] : undefined
  if (manifest?.speaks === 'sdk') {
    const { claudeDriver } = await import('./claude/driver.ts')
    return claudeDriver(options)
  }
  if (manifest?.speaks === 'acp') {
    const { acpDriver } = await import('./acp/driver.ts')
    return acpDriver(manifest, options)
  }
  throw new AppError('usage', { problem: `There is no agent "${agent}".`, command: 'start' })
}
