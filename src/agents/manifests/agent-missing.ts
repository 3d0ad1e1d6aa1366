import { AppError } from '../../base/errors.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'

/** An agent whose program cannot be started, by its name and with how to get it. */
export function agentMissing(
  { name, start }: Pick<AgentManifest, 'name' | 'start'>,
  problem: string,
  cause?: unknown,
): AppError<'agent_missing'> {
  return new AppError('agent_missing', { agent: name, problem, install: start.install }, cause)
}
