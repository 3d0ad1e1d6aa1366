import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Line } from '../turns/manner.ts'
import { rpcFailure } from './messages/failure.ts'
import { ModeUpdate } from './wire/schemas.ts'

interface Keeping {
  manifest: Pick<AgentManifest, 'modes' | 'name'>
  sessionId: string | undefined
  line: Pick<Line, 'request' | 'cutOff'>
}

/** Another mode may not ask: an agent that has changed to one by itself is put back. */
export function keepMode(update: Record<string, unknown>, { manifest, sessionId, line }: Keeping): void {
  const { modes, name } = manifest
  const changed = leftMode(update, modes)
  if (changed === undefined) return
  line.request('session/set_mode', { sessionId, modeId: modes.work }).catch(error => {
    const message = `${name} changed to the mode "${changed}" and did not change back: ${rpcFailure(error).message}`
    line.cutOff({ kind: 'other', message })
  })
}

/** The mode that it has changed to, where it is not one of those that it was given. */
function leftMode(update: Record<string, unknown>, { work, readOnly }: AgentManifest['modes']): string | undefined {
  const mode = ModeUpdate.safeParse(update).data?.currentModeId
  return work === undefined || mode === work || mode === readOnly ? undefined : mode
}
