import { AppError } from '../base/errors.ts'
import type { Driver } from '../domain/session.ts'
import type { DriverOptions } from './driver-options.ts'

/** The driver of an agent by name. The vendor's library is imported here, on use: it takes 37 MB. */
export async function openDriver(agent: string, options: DriverOptions = {}): Promise<Driver> {
  if (agent !== 'claude') throw new AppError('usage', { problem: `There is no agent "${agent}".`, command: 'start' })
  const { claudeDriver } = await import('./claude/driver.ts')
  return claudeDriver(options)
}
