import { AppError } from '../../base/errors.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { SandboxMode, SandboxProgram } from '../../domain/agents/sandbox.ts'
import { type Bubblewrap, findBubblewrap } from './bubblewrap.ts'

/**
 * What the sandbox of an agent is made with; nothing where it runs without one. One that is held to every call does: what it runs was
 * judged. `required` refuses every other where there is none.
 */
export async function sandboxNeeded(
  agent: Pick<AgentManifest, 'hold' | 'name'>,
  mode: SandboxMode,
  find: () => Promise<Bubblewrap> = findBubblewrap,
): Promise<SandboxProgram | undefined> {
  if (mode === 'off' || agent.hold === 'every-call') return undefined
  const found = await find()
  if ('program' in found) return found
  if (mode === 'auto') return undefined
  throw new AppError('sandbox_missing', { agent: agent.name, problem: found.problem, install: found.install })
}
