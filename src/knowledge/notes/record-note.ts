import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { exclusively } from '../../base/files/exclusively.ts'
import { replaceFile } from '../../base/files/replace-file.ts'
import { redactText } from '../../base/redact.ts'
import { cleanTags, LONGEST, type NewNote, type Note, plain } from './note.ts'
import { noteText } from './parse.ts'
import { type Placed, placeNote } from './place-note.ts'
import { leadsOutside, MOST_NOTES, NOTES_FOLDER, readNotes } from './read-notes.ts'

export interface Recording {
  project: string
  by: Note['by']
  /** A file of its own, whatever its tags. */
  apart?: boolean | undefined
  /** Held while the notes are read and written: the daemon and the command line may do so at once. */
  lockFile: string
  now: number
}

/** What became of a note; `file` is its path from the project. */
export type Recorded =
  | { did: Placed['did']; file: string; title: string; tags: string[] }
  | { did: 'refused'; title: string; why: string }

/** What agents may fill a project with. */
const MOST_BY_AGENTS = 200

/**
 * Writes a note down among those of a project (`placeNote` says where), whole or not at all. The same once more changes nothing. An
 * agent's words are cut to a page, and what looks like a secret is taken out of them. Never throws: what cannot be is refused.
 */
export function recordNote(given: NewNote, recording: Recording): Recorded {
  const note = clean(given, recording)
  const refused = (why: string): Recorded => ({ did: 'refused', title: note.title, why })
  if (note.title === '') return refused('it has no title')
  if (note.body === '') return refused('it is empty')
  if (note.body.length > LONGEST_OF_PERSON) return refused(`it is longer than ${LONGEST_OF_PERSON} characters`)
  try {
    return exclusively(recording.lockFile, () => {
      const { project, by, apart } = recording
      const outside = leadsOutside(project)
      if (outside !== undefined) return refused(outside)
      const { directory, notes, broken } = readNotes(project)
      const taken = broken.map(({ file }) => file)
      const placed = placeNote(note, apart ? notes.map(other => ({ ...other, title: '', tags: [] })) : notes, taken)
      const { did, note: written } = placed
      const isFull = notes.length + broken.length >= MOST_NOTES
      const agents = notes.filter(other => other.by === 'agent').length
      if (did === 'created' && (isFull || (by === 'agent' && agents >= MOST_BY_AGENTS)))
        return refused('there are too many notes already; remove some with: pcc notes rm …')
      if (did !== 'known') {
        mkdirSync(directory, { recursive: true })
        replaceFile(join(directory, written.file), noteText(written), 0o644)
      }
      return { did, file: join(NOTES_FOLDER, written.file), title: written.title, tags: written.tags }
    })
  } catch (error) {
    return refused(messageOf(error))
  }
}

/** A note is read whole from a file of at most 64 KB. */
const LONGEST_OF_PERSON = 15_000

function clean({ title, tags, body, feature, task }: NewNote, { by, now }: Recording): Note {
  const safe = (text: string) => (by === 'agent' ? redactText(plain(text)) : plain(text))
  const at = new Date(now).toISOString()
  return {
    file: '',
    title: cut(safe(title).replace(/\s+/g, ' '), LONGEST.title),
    tags: cleanTags(tags),
    ...(feature !== undefined && { feature }),
    ...(task !== undefined && { task }),
    by,
    ...{ created_at: at, updated_at: at, more: {} },
    body: by === 'agent' ? cut(safe(body), LONGEST.body) : safe(body),
  }
}

function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest - 1).toWellFormed()}…` : text
}
