import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { OpenSession } from '../../domain/session.ts'
import { isReadOnly } from '../reads-only.ts'
import type { Line } from '../turns/manner.ts'
import { rpcFailure } from './messages/failure.ts'
import { ModeUpdate } from './wire/schemas.ts'

interface Keeping {
  manifest: Pick<AgentManifest, 'modes' | 'name'>
  open: OpenSession
  sessionId: string | undefined
  line: Pick<Line, 'request' | 'cutOff' | 'stopMs'>
}

/** The mode that a session is given; undefined where it keeps the agent's own. */
export function modeFor({ modes }: Pick<AgentManifest, 'modes'>, open: OpenSession): string | undefined {
  return isReadOnly(open) ? (modes.readOnly ?? modes.work) : modes.work
}

/** Another mode may not ask: an agent that has changed to one by itself is put back, at once or not at all. */
export function keepMode(update: Record<string, unknown>, { manifest, open, sessionId, line }: Keeping): void {
  const modeId = modeFor(manifest, open)
  const changed = ModeUpdate.safeParse(update).data?.currentModeId
  if (modeId === undefined || changed === undefined || changed === modeId) return
  void putBack(line, { sessionId, modeId }).then(problem => {
    if (problem === undefined) return
    const message = `${manifest.name} changed to the mode "${changed}" and did not change back: ${problem}`
    line.cutOff({ kind: 'other', message })
  })
}

/** Why it did not work. */
async function putBack(line: Keeping['line'], params: Record<string, unknown>): Promise<string | undefined> {
  const late = new AbortController()
  try {
    const answer = line.request('session/set_mode', params).then(
      () => undefined,
      error => rpcFailure(error).message,
    )
    const silence = sleep(line.stopMs, `no answer within ${line.stopMs / 1000} s`, { signal: late.signal, ref: false })
    return await Promise.race([answer, silence.catch(() => undefined)])
  } finally {
    late.abort()
  }
}
