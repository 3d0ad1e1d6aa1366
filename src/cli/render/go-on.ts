import type { SessionView } from '../../domain/api.ts'
import { isOver } from './format.ts'

/**
 * The command by which a session that stands still goes on; none where it does so by itself, is done, or where what was
 * said of it names one.
 */
export function goOn(session: SessionView, said: string | null = session.reason): string[] {
  if (!isOver(session) || session.status === 'completed') return []
  if (session.status === 'waiting_input') return [`pcc attach ${session.id}`]
  if (session.resumes_at !== null || /\bpcc (resume|retry) /.test(said ?? '')) return []
  return [resumeCommand(session)]
}

/** How a session goes on in its own conversation. */
export function resumeCommand({ id }: Pick<SessionView, 'id'>): string {
  return `pcc resume ${id}`
}
