import { AppError } from '../base/errors.ts'
import type { Driver } from '../domain/session.ts'

export interface DriverOptions {
  /** Path of the agent's program; the one that came with us when absent. */
  executable?: string | undefined
  /** Put behind our own lines at the end of the system prompt. */
  appendPrompt?: string | undefined
  /** Takes lines for the log: never values of the environment, never what the agent says. */
  log?: ((line: string) => void) | undefined
  /** How long an ask may take before it counts as refused. */
  askDeadlineMs?: number | undefined
  /** How long a resumed session without a prompt waits for the call that was parked. */
  reofferMs?: number | undefined
  /** How long a warm process waits for its session. */
  warmForMs?: number | undefined
}

/** The driver of an agent by name. The vendor's library is imported here, on use: it takes 37 MB. */
export async function openDriver(agent: string, options: DriverOptions = {}): Promise<Driver> {
  if (agent !== 'claude') throw new AppError('usage', { problem: `There is no agent "${agent}".`, command: 'start' })
  const { claudeDriver } = await import('./claude/driver.ts')
  return claudeDriver(options)
}
