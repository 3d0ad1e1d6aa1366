import type { Log } from '../../base/log.ts'
import type { Task } from '../../domain/task.ts'
import { recordNote } from '../../knowledge/notes/record-note.ts'
import type { AttemptStory } from './attempt-story.ts'

/** What one attempt may add: a project is not to be filled with what one agent thinks of. */
const MOST = 5

export interface Keeping {
  project: string
  task: Pick<Task, 'id' | 'feature'>
  lockFile: string
  now: number
  log: Log
}

/** Writes down the notes of an attempt among those of its project. Once more changes nothing; what is refused is logged. */
export function keepNotes(knowledge: AttemptStory['knowledge'], { project, task, log, ...where }: Keeping): void {
  for (const { title, tags, body } of knowledge.slice(0, MOST)) {
    const note = { title, tags, body, task: task.id, ...(task.feature !== null && { feature: task.feature }) }
    const recorded = recordNote(note, { project, by: 'agent', ...where })
    if (recorded.did === 'refused') log.warn({ task: task.id, title, why: recorded.why }, 'a note was not written down')
    else log.info({ task: task.id, file: recorded.file, did: recorded.did }, 'a note was written down')
  }
  const more = knowledge.length - MOST
  if (more > 0) log.warn({ task: task.id, more }, 'one attempt may write down only so many notes')
}
