import { AppError } from '../../base/errors.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { sweepMarked, sweepTree } from '../../base/process/sweep.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { stillThere } from '../waits/still-there.ts'

/**
 * Ends what a session that nobody holds has left in its terminal; the window goes with it. What is wanted is written down first: a
 * daemon that dies here does not take the agent for one that goes on. Throws where something withstands, because the session is
 * not stopped then. One that was taken up since its row was read is left to whoever has it.
 */
export async function endLeft(row: SessionRow, intent: 'stop' | 'pause', store: Store): Promise<void> {
  const { id, options, marker, agent_pid: pid, agent_started: startTime } = row
  if (options.host !== 'tmux' || marker === null) return
  const isOurs = await store.transaction(async tx => {
    if (!(await stillThere(row, store, tx))) return false
    await store.sessions.update(id, { intent }, tx)
    return true
  })
  if (!isOurs) return
  const marked = await sweepMarked(sessionMarker(marker))
  const tree = pid === null || startTime === null ? { left: [] } : await sweepTree({ pid, startTime })
  const left = [...marked.left, ...tree.left]
  if (left.length > 0) throw new AppError('session_withstood', { id, pids: left.map(each => each.pid).join(' ') })
  await store.transaction(async tx => {
    if (await stillThere(row, store, tx)) await store.sessions.update(id, NO_PROCESS, tx)
  })
}

const NO_PROCESS = { marker: null, agent_pid: null, agent_started: null }
