import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { replaceFile, withFileLock } from '../base/files.ts'
import { redactText } from '../base/redact.ts'
import { cleanNoteText, cleanTags, type NewNote, NOTE_LIMITS, type Note } from './note.ts'
import { explainOutsideLink, MOST_NOTES, NOTES_FOLDER, noteText, readNotes } from './read-notes.ts'

export interface NoteRecording {
  project: string
  by: Note['by']
  /** A file of its own, whatever its tags. */
  apart?: boolean | undefined
  /** Held while the notes are read and written: the daemon and the command line may do so at once. */
  lockFile: string
  now: number
}

/** What became of a note; `file` is its path from the project. */
export type RecordedNote =
  | { did: PlacedNote['did']; file: string; title: string; tags: string[] }
  | { did: 'refused'; title: string; why: string }

/** What agents may fill a project with. */
const MOST_BY_AGENTS = 200

/**
 * Writes a note down among those of a project (`placeNote` says where), whole or not at all. The same once more changes nothing. An
 * agent's words are cut to a page, and what looks like a secret is taken out of them. Never throws: what cannot be is refused.
 */
export function recordNote(given: NewNote, recording: NoteRecording): RecordedNote {
  const note = clean(given, recording)
  const refused = (why: string): RecordedNote => ({ did: 'refused', title: note.title, why })
  if (note.title === '') return refused('it has no title')
  if (note.body === '') return refused('it is empty')
  if (note.body.length > LONGEST_OF_PERSON) return refused(`it is longer than ${LONGEST_OF_PERSON} characters`)
  try {
    return withFileLock(recording.lockFile, () => {
      const { project, by, apart } = recording
      const outside = explainOutsideLink(project)
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

function clean({ title, tags, body, feature, task }: NewNote, { by, now }: NoteRecording): Note {
  const safe = (text: string) => (by === 'agent' ? redactText(cleanNoteText(text)) : cleanNoteText(text))
  const at = new Date(now).toISOString()
  return {
    file: '',
    title: cut(safe(title).replace(/\s+/g, ' '), NOTE_LIMITS.title),
    tags: cleanTags(tags),
    ...(feature !== undefined && { feature }),
    ...(task !== undefined && { task }),
    by,
    ...{ created_at: at, updated_at: at, more: {} },
    body: by === 'agent' ? cut(safe(body), NOTE_LIMITS.body) : safe(body),
  }
}

function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest - 1).toWellFormed()}…` : text
}

/** What becomes of a note that is to be written. */
type PlacedNote =
  | { did: 'created'; note: Note }
  /** One of the same title gave way to it. */
  | { did: 'replaced'; note: Note }
  /** It went into one with nearly the same tags. */
  | { did: 'merged'; note: Note }
  /** All of it stands there already. */
  | { did: 'known'; note: Note }

/** Tags that two notes share, of those of the one that has more, from which on they are about the same. */
const SAME = 0.5

/**
 * Where a note goes among those there are: in the place of one of the same title, into the one with which it shares more than half
 * of the tags, or into a file of its own. A person's note is changed by a person only: an agent's stands beside it. `taken`:
 * names of files that are no notes. Pure.
 */
export function placeNote(note: Note, others: readonly Note[], taken: readonly string[] = []): PlacedNote {
  const created = (): PlacedNote => ({
    did: 'created',
    note: { ...note, file: freeName(note.title, [...namesOf(others), ...taken]) },
  })
  const theirs = note.by === 'agent' ? others.find(other => other.by === 'person' && says(other, note)) : undefined
  if (theirs) return { did: 'known', note: theirs }
  const own = others.filter(({ by }) => by === note.by)
  const mine = note.by === 'agent' ? own : [...own, ...others.filter(({ by }) => by === 'agent')]
  const same = mine.filter(({ title }) => sameTitle(title, note.title))
  const known = same.find(other => isIn(note, other))
  if (known) return { did: 'known', note: known }
  if (same[0]) return { did: 'replaced', note: replacing(same[0], note) }
  const near = mine
    .map(other => ({ other, overlap: tagOverlap(other.tags, note.tags) }))
    .filter(({ overlap }) => overlap > SAME)
    .sort((a, b) => b.overlap - a.overlap)
    .map(({ other }) => other)
  const knowing = near.find(({ body }) => body.includes(note.body))
  if (knowing) return { did: 'known', note: knowing }
  const into = near.find(({ body }) => sectionIn(body, note.title)) ?? near[0]
  if (!into) return created()
  const merged = mergedNote(into, note)
  // Too long together: it would lose what stood there first.
  return merged ? { did: 'merged', note: merged } : created()
}

/** Shared tags as a part of the longer list; none where one has no tags. */
export function tagOverlap(a: readonly string[], b: readonly string[]): number {
  const most = Math.max(new Set(a).size, new Set(b).size)
  return most === 0 ? 0 : new Set(a).intersection(new Set(b)).size / most
}

function namesOf(notes: readonly Note[]): string[] {
  return notes.map(({ file }) => file)
}

function says(other: Note, { title, body }: Note): boolean {
  return sameTitle(other.title, title) && other.body.includes(body)
}

function sameTitle(a: string, b: string): boolean {
  return fold(a) === fold(b)
}

function fold(title: string): string {
  return title.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}

function isIn(note: Note, { body, tags, feature }: Note): boolean {
  return body === note.body && feature === note.feature && note.tags.join() === tags.join()
}

function replacing({ file, created_at, more }: Note, note: Note): Note {
  return { ...note, file, created_at: created_at ?? note.created_at, more }
}

function mergedNote(into: Note, { title, body, tags, by, updated_at }: Note): Note | undefined {
  const section = `## ${title}\n\n${body}`
  const before = sectionIn(into.body, title)
  const both = before === undefined ? `${into.body}\n\n${section}` : into.body.replace(before, () => section)
  if (both.length > NOTE_LIMITS.body * MERGED) return undefined
  return { ...into, tags: [...new Set([...into.tags, ...tags])].slice(0, NOTE_LIMITS.tags), body: both, by, updated_at }
}

/** What was added under this title before: it gives way to what is said now. */
function sectionIn(body: string, title: string): string | undefined {
  const begin = `\n\n${body}`.indexOf(`\n\n## ${title}\n\n`)
  if (begin < 0) return undefined
  const rest = body.slice(begin)
  const end = rest.indexOf('\n\n## ', 1)
  return end < 0 ? rest : rest.slice(0, end)
}

/** How many full notes go into one. */
const MERGED = 2

/** `totals-are-cents.md`, and with a number where that is another note. */
function freeName(title: string, names: readonly string[]): string {
  const taken = new Set(names.map(name => name.toLowerCase()))
  const base = slugOf(title)
  for (let number = 1; ; number++) {
    const name = `${base}${number === 1 ? '' : `-${number}`}.md`
    if (!taken.has(name)) return name
  }
}

function slugOf(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replace(/^-+|-+$/g, '')
  return plain === '' ? 'note' : plain
}
