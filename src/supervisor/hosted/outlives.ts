import { isAlive } from '../../base/process/start-time.ts'
import type { SessionRow } from '../../store/tables.ts'
import { isOver } from '../waits/kept-environments.ts'

/**
 * Whether the agent of a session that an earlier daemon held still runs in its terminal and goes on there: it is left alone, and
 * taken up again by the window it is in. What a person wanted to stop, or what waits for one, is ended like all others.
 */
export async function outlives(row: SessionRow): Promise<boolean> {
  const { agent_pid: pid, agent_started: startTime, options, intent, parked, ended_as } = row
  if (isOver(ended_as)) return false
  if (options.host !== 'tmux' || intent !== null || parked !== null || pid === null || startTime === null) return false
  return isAlive({ pid, startTime })
}

/** Behind the reason why a session rests: whoever reads it must know that its agent does not. */
export async function stillInTerminal(row: SessionRow): Promise<string> {
  if (!(await outlives(row))) return ''
  return `\nIts agent still runs in its terminal, where its calls are refused: pcc resume ${row.id} takes it up, pcc stop ${row.id} ends it.`
}
