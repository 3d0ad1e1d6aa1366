import { agentMissing } from '../../agents/manifests/agent-missing.ts'
import { AppError } from '../../base/errors.ts'
import { notLoggedIn } from '../../domain/agents/login.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Failure } from '../../domain/session.ts'

/** What a person hears of an agent that could not reply. */
export function agentTrouble({ kind, message, limit }: Failure, manifest: AgentManifest): AppError {
  switch (kind) {
    case 'auth':
      return notLoggedIn(manifest)
    case 'agent_missing':
      return agentMissing(manifest, message)
    case 'limit':
      return accountLimited(limit?.resetsAt)
    default:
      return new AppError('agent_failed', { problem: message })
  }
}

/** The account may not call the model: until a time, or until somebody lets it. */
export function accountLimited(until: number | undefined): AppError {
  return new AppError('account_limited', {
    until: until === undefined ? '' : ` until ${new Date(until).toISOString()}`,
  })
}
