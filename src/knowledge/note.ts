/** Something worth knowing about a project: one file of `.perpetualcc/knowledge`. */
export interface Note {
  /** Name of its file; empty while it has none. */
  file: string
  title: string
  /** Lower case, without duplicates. */
  tags: string[]
  /** Name of the feature it is about. */
  feature?: string | undefined
  /** Who wrote it. An agent's note that a person has changed is the person's. */
  by: 'person' | 'agent'
  /** The task whose agent wrote it. */
  task?: string | undefined
  /** ISO times. */
  created_at?: string | undefined
  updated_at?: string | undefined
  body: string
  /** Other fields of its front matter, kept as they are. */
  more: Record<string, unknown>
}

/** A note to be written. */
export type NewNote = Pick<Note, 'title' | 'tags' | 'body'> & Partial<Pick<Note, 'feature' | 'task'>>

/** A file that could not be parsed as a note, and why. */
export interface BrokenNote {
  file: string
  problem: string
}

/** Limits of one note, because it goes into prompts. */
export const NOTE_LIMITS = { title: 200, tag: 50, tags: 20, body: 4_000 } as const

/** Tags in their compared form: lower case, one word or words joined by dashes, without duplicates. */
export function cleanTags(tags: readonly string[]): string[] {
  const clean = tags.map(tag =>
    cleanNoteText(tag)
      .toLowerCase()
      .replace(/^#+/, '')
      .replace(/[\s_/]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, NOTE_LIMITS.tag)
      .toWellFormed(),
  )
  return [...new Set(clean)].filter(tag => tag !== '').slice(0, NOTE_LIMITS.tags)
}

/** A text without control characters and marks that change the direction of text; line ends stay. */
export function cleanNoteText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(INVISIBLE, '').toWellFormed().trim()
}

const INVISIBLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g
