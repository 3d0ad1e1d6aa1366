import { access, constants, stat } from 'node:fs/promises'
import { AppError, messageOf } from '../../../base/errors.ts'
import { installedProgram, placeSearched } from '../../../base/process/find-program.ts'
import type { AgentChoice } from '../../../domain/agents/choice.ts'
import type { AgentManifest } from '../../../domain/agents/manifest.ts'
import type { LoadedConfig } from '../../../domain/config/load.ts'

interface ChosenAgent {
  agent: AgentChoice
  manifest: AgentManifest
  env: Record<string, string>
}

/** Refuses an agent whose program is not there before anything is started: here it is known how to get it, and which line names it. */
export async function checkProgram(
  { config, origin }: LoadedConfig,
  { agent, manifest, env }: ChosenAgent,
): Promise<void> {
  if (manifest.speaks === 'sdk' && !agent.command) return checkPath(config.agents.path, origin('agents.path'))
  const command = agent.command?.[0] ?? manifest.start.command
  if (installedProgram(command, env)) return
  const { name, start } = manifest
  const where = placeSearched(command, env)
  throw new AppError('agent_not_installed', { agent: name, command, where, install: start.install })
}

async function checkPath(path: string | undefined, origin: string): Promise<void> {
  if (path === undefined) return
  const problem = await access(path, constants.X_OK)
    .then(() => stat(path))
    .then(found => (found.isFile() ? undefined : 'it is not a file'), messageOf)
  if (problem !== undefined) throw new AppError('agent_path_wrong', { path, origin, problem })
}
