/** Something worth knowing about a project: one file of `.perpetualcc/knowledge`. */
export interface Note {
  /** Name of its file there; empty while it has none. */
  file: string
  title: string
  /** Lower case, each once. */
  tags: string[]
  /** Name of the feature it is about. */
  feature?: string | undefined
  /** Who wrote it. What an agent wrote and a person has changed since is a person's. */
  by: 'person' | 'agent'
  /** The task whose agent wrote it. */
  task?: string | undefined
  /** ISO times. */
  created_at?: string | undefined
  updated_at?: string | undefined
  body: string
  /** What else its front matter says; kept as it is. */
  more: Record<string, unknown>
}

/** A note that is to be written. */
export type NewNote = Pick<Note, 'title' | 'tags' | 'body'> & Partial<Pick<Note, 'feature' | 'task'>>

/** A file among the notes that is none, and why. */
export interface BrokenNote {
  file: string
  problem: string
}

/** Bounds of one note: it is put into prompts. */
export const NOTE_LIMITS = { title: 200, tag: 50, tags: 20, body: 4_000 } as const

/** Tags as they are compared: lower case, one word or words with dashes, each once. */
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

/** A text without control characters and marks that turn the direction of text; ends of lines stay. */
export function cleanNoteText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSEEN, '').toWellFormed().trim()
}

const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g
