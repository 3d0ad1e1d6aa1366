import { AppError } from '../../../base/errors.ts'
import type { Preparation } from '../preparation.ts'

/** Refuses an agent that does not ask about every call where nobody watches it, unless the person lets it or a sandbox holds it. */
export function refuseUnheld({ agent, manifest, heldEnough }: Preparation): void {
  if (heldEnough) return
  throw new AppError('agent_not_held', { agent: manifest.name, name: agent.name, why: manifest.heldBy })
}
