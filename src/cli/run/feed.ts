import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { RunDetail } from '../../domain/runs/run-view.ts'
import type { Connection } from '../connection/connection.ts'
import { keepLooking } from '../connection/keep-looking.ts'

export interface Feed {
  client: Connection
  run: string
  signal: AbortSignal
  /** Whether what an agent says and does is shown too, and not only what becomes of its task. */
  closely: boolean
  show(now: RunDetail): void
  /** The daemon does not answer; it is asked again. */
  lost(problem: string): void
}

/** Asked in vain so often, one after the other, it stays away. */
const PATIENCE = 20

/** Shows a run as it changes until it has ended, and gives it then; nothing where the signal came first. */
export async function followRun({ client, run, signal, closely, show, lost }: Feed): Promise<RunDetail | undefined> {
  let missed = 0
  let ended: RunDetail | undefined
  const look = async () => {
    try {
      const now = await client.request<RunDetail>('GET', `/runs/${run}`)
      missed = 0
      if (signal.aborted) return 'over'
      show(now)
      if (now.state === 'ended') ended = now
      return ended ? 'over' : 'seen'
    } catch (error) {
      missed += 1
      if (!(error instanceof AppError && error.code === 'daemon_unreachable')) throw error
      if (missed > PATIENCE) throw new AppError('daemon_gone', { id: run })
      if (!signal.aborted) lost(messageOf(error))
      return 'missed'
    }
  }
  // Clocks and quota go on although nothing happens.
  const isTelling = ({ kind }: StoredEvent) => !UNSEEN.test(kind) && (closely || !IN_WORK.test(kind))
  await keepLooking({ client, signal, isTelling, everyMs: 5_000, apartMs: 120, look })
  return ended
}

/** Whatever else happens to anybody is a reason to look: what a run waits for is often elsewhere. */
const UNSEEN = /^(usage\.reported|agent\.thought)$/
/** Tens of them for each task, and a look reads the whole run. */
const IN_WORK = /^(agent|tool|turn|plan)\.|^permission\.decided$/
