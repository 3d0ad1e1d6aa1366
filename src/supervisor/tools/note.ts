import type { ToolReply } from '../../domain/tools/agent-tools.ts'
import { recordNote } from '../../knowledge/notes/record-note.ts'
import { mayCall, ownTask, type ToolCall } from './caller.ts'

/** Notes that one session may write down. */
const MOST_NOTES = 20

const DID = {
  created: 'Written down',
  replaced: 'Written down in place of the one with that title',
  merged: 'Written down with another one about the same',
  known: 'That is written down already',
}

/** Keeps what others who work on the project should know. */
export async function keepNote(
  given: { title: string; tags: string[]; body: string },
  call: ToolCall,
): Promise<ToolReply> {
  if (!mayCall('record_note', MOST_NOTES, call))
    return { ok: false, text: `Not done: ${MOST_NOTES} notes are the most; put the rest into your report.` }
  const { run, parts } = call
  const task = await ownTask(call)
  const note = { ...given, task: task.id, ...(task.feature !== null && { feature: task.feature }) }
  const { notesLock: lockFile, clock } = parts
  const recorded = recordNote(note, { project: run.row.project, by: 'agent', lockFile, now: clock.now() })
  if (recorded.did === 'refused') return { ok: false, text: `Not done: ${recorded.why}.` }
  return { ok: true, text: `${DID[recorded.did]}: ${recorded.file}` }
}
