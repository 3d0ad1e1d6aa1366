import type { ToolReply } from '../../domain/tools/agent-tools.ts'
import { searchNotes } from '../../knowledge/notes/match-notes.ts'
import { readNotes } from '../../knowledge/notes/read-notes.ts'
import { searchJournal } from '../../tasks/journal/search.ts'
import type { ToolCall } from './caller.ts'

/** Of each kind; more is asked for with better words. */
const MOST_FOUND = 10

/** Looks for words in the tasks, the notes and the journal of the session's own project. */
export async function searchAll(query: string, { run, parts }: ToolCall): Promise<ToolReply> {
  const { store } = parts
  const { project } = run.row
  const tasks = await store.tasks.list({ project, text: query, limit: MOST_FOUND })
  const notes = searchNotes(readNotes(project).notes, query).slice(0, MOST_FOUND)
  const { entries } = await searchJournal(store, { project, words: query, limit: MOST_FOUND })
  const sections = [
    section('Tasks', tasks, ({ id, state, title, result }) => `${id} (${state}) ${title}${after(result)}`),
    section(
      'Notes',
      notes,
      ({ title, body }) => `${title}: ${body.replace(/\s+/g, ' ').slice(0, LONGEST).toWellFormed()}`,
    ),
    section(
      'Journal',
      entries,
      ({ task_id, outcome, title, notes: said }) => `${task_id} (${outcome}) ${title}${after(said)}`,
    ),
  ]
  return { ok: true, text: sections.filter(Boolean).join('\n\n') || 'Nothing was found.' }
}

function section<T>(title: string, found: readonly T[], lineOf: (one: T) => string): string {
  return found.length === 0 ? '' : `${title}:\n${found.map(lineOf).join('\n')}`
}

const LONGEST = 500

function after(text: string | null): string {
  const line = (text ?? '').trim().split('\n', 1)[0] ?? ''
  return line === '' ? '' : `: ${line.slice(0, LONGEST).toWellFormed()}`
}
