import type { SessionRow } from '../../store/tables.ts'
import type { Parts, Run } from '../run.ts'

/** `asking` while anything is open at a terminal, `running` again when nothing is. */
export function askingPatch(run: Run, parts: Parts): Partial<SessionRow> {
  const state = parts.terminals.open(run.id).length > 0 ? 'asking' : 'running'
  return run.row.state === state ? {} : { state }
}
