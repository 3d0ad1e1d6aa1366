import { AppError } from '../../../base/errors.ts'
import { sessionMarker } from '../../../base/process/marker.ts'

/**
 * Refuses what only a person may decide where it is run inside a session. The policy refuses agents every such `pcc` they
 * spell out; this is for the one that a script of theirs runs without knowing.
 */
export function refuseInSession(env: Record<string, string | undefined>, command: string): void {
  if (env[sessionMarker('').name] !== undefined) throw new AppError('agent_answers', { command })
}
