import { shellWord } from '../../base/shell-word.ts'
import type { SessionView } from '../../domain/api.ts'
import { isOver } from './format.ts'
import { neutral } from './text.ts'

/** The command by which a session that is over goes on, unless its reason names one or there is nothing to go on from. */
export function goOn(session: SessionView): string[] {
  if (!isOver(session) || session.status === 'completed') return []
  if (session.status === 'waiting_input') return [`pcc attach ${session.id}`]
  if (!session.vendor_id || session.reason?.includes('--resume')) return []
  return [resumeCommand(session.project, session.vendor_id)]
}

/** How to go on from a session in a new one. */
export function resumeCommand(project: string, vendorId: string): string {
  return `pcc start ${shellWord(neutral(project))} --resume ${shellWord(neutral(vendorId))} --task "…"`
}
