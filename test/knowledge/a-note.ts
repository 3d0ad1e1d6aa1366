import type { Note } from '../../src/knowledge/note.ts'

/** A note of an agent about nothing in particular. */
export function aNote(more: Partial<Note> = {}): Note {
  return { file: 'a.md', title: 'A', tags: [], by: 'agent', body: 'text', more: {}, ...more }
}
