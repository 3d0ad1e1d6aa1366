import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../base/errors.ts'
import { replaceEntry, withFileLock } from '../base/files.ts'
import { redactText } from '../base/redact.ts'
import { cleanNoteText, cleanTags, type NewNote, NOTE_LIMITS, type Note } from './note.ts'
import { MOST_NOTES, NOTES_FOLDER, noteText, openNotesFolder, readNotes } from './read-notes.ts'

export interface NoteRecording {
  project: string
  by: Note['by']
  /** Write a new file, whatever the tags. */
  apart?: boolean | undefined
  /** Held while notes are read and written: the daemon and the command line may do so at the same time. */
  lockFile: string
  now: number
}

/** The outcome for a note; `file` is its path relative to the project. */
export type RecordedNote =
  | { did: NoteChange['did']; file: string; title: string; tags: string[] }
  | { did: 'refused'; title: string; why: string }

/** The most notes of agents in a project. */
const MOST_BY_AGENTS = 200

/**
 * Writes a note into a project (`placeNote` decides where), completely or not at all. Recording the same note again changes nothing. An
 * agent's text is cut to a page, and what looks like a secret is removed. Never throws: a note that cannot be written is refused.
 */
export function recordNote(newNote: NewNote, recording: NoteRecording): RecordedNote {
  const note = clean(newNote, recording)
  const refused = (why: string): RecordedNote => ({ did: 'refused', title: note.title, why })
  if (note.title === '') return refused('it has no title')
  if (note.body === '') return refused('it is empty')
  if (note.body.length > LONGEST_OF_PERSON) return refused(`it is longer than ${LONGEST_OF_PERSON} characters`)
  try {
    return withFileLock(recording.lockFile, () => {
      const { project, by, apart } = recording
      const { notes, broken } = readNotes(project)
      const taken = broken.map(({ file }) => file)
      const placed = placeNote(note, apart ? notes.map(other => ({ ...other, title: '', tags: [] })) : notes, taken)
      const { did, note: written } = placed
      const isFull = notes.length + broken.length >= MOST_NOTES
      const agents = notes.filter(other => other.by === 'agent').length
      if (did === 'created' && (isFull || (by === 'agent' && agents >= MOST_BY_AGENTS)))
        return refused('there are too many notes already; remove some with: pcc notes rm …')
      if (did !== 'known') {
        const opened = openNotesFolder(project, { make: true })
        if (opened === undefined || typeof opened === 'string') return refused(opened ?? `there is no ${NOTES_FOLDER}`)
        using folder = opened
        replaceEntry(folder.at(written.file), noteText(written), 0o644)
      }
      return { did, file: join(NOTES_FOLDER, written.file), title: written.title, tags: written.tags }
    })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const isClosed = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR'].includes(code)
    const where = join(recording.project, NOTES_FOLDER)
    return refused(
      isClosed ? `nothing can be written in ${where}: make it a directory that you may write to` : messageOf(error),
    )
  }
}

/** A note must fit into a file of at most 64 KB. */
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

/** What a new note does to the notes of a project. */
type NoteChange =
  | { did: 'created'; note: Note }
  /** It replaces a note with the same title. */
  | { did: 'replaced'; note: Note }
  /** It is added to a note with nearly the same tags. */
  | { did: 'merged'; note: Note }
  /** A note contains all of it already. */
  | { did: 'known'; note: Note }

/** Two notes are about the same thing if their tag overlap is above this. */
const SAME_TOPIC = 0.5

/**
 * Where a note goes: it replaces one with the same title, is added to the one with which it shares more than half of the tags, or gets a
 * file of its own. Only a person changes a person's note: an agent's note gets its own file beside it. `taken`: names of files that are
 * no notes. Pure.
 */
export function placeNote(note: Note, others: readonly Note[], taken: readonly string[] = []): NoteChange {
  const created = (): NoteChange => ({
    did: 'created',
    note: { ...note, file: freeName(note.title, [...namesOf(others), ...taken]) },
  })
  const byPerson =
    note.by === 'agent' ? others.find(other => other.by === 'person' && contains(other, note)) : undefined
  if (byPerson) return { did: 'known', note: byPerson }
  const own = others.filter(({ by }) => by === note.by)
  const changeable = note.by === 'agent' ? own : [...own, ...others.filter(({ by }) => by === 'agent')]
  const same = changeable.filter(({ title }) => isSameTitle(title, note.title))
  const known = same.find(other => isEqual(note, other))
  if (known) return { did: 'known', note: known }
  if (same[0]) return { did: 'replaced', note: replaceNote(same[0], note) }
  const near = changeable
    .map(other => ({ other, overlap: tagOverlap(other.tags, note.tags) }))
    .filter(({ overlap }) => overlap > SAME_TOPIC)
    .sort((a, b) => b.overlap - a.overlap)
    .map(({ other }) => other)
  const containing = near.find(({ body }) => body.includes(note.body))
  if (containing) return { did: 'known', note: containing }
  const target = near.find(({ body }) => findSection(body, note.title)) ?? near[0]
  if (!target) return created()
  const merged = mergeNotes(target, note)
  // Too long together: the earlier text would be lost.
  return merged ? { did: 'merged', note: merged } : created()
}

/** Shared tags as a share of the longer list; 0 if one has no tags. */
export function tagOverlap(a: readonly string[], b: readonly string[]): number {
  const most = Math.max(new Set(a).size, new Set(b).size)
  return most === 0 ? 0 : new Set(a).intersection(new Set(b)).size / most
}

function namesOf(notes: readonly Note[]): string[] {
  return notes.map(({ file }) => file)
}

function contains(other: Note, { title, body }: Note): boolean {
  return isSameTitle(other.title, title) && other.body.includes(body)
}

function isSameTitle(a: string, b: string): boolean {
  return fold(a) === fold(b)
}

function fold(title: string): string {
  return title.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}

/** Whether two notes say the same. A new field counts unless it is about the writing and not about what is written. */
function isEqual(note: Note, other: Note): boolean {
  return isDeepStrictEqual(contentOf(note), contentOf(other))
}

function contentOf(note: Note): Partial<Note> {
  const { file: _, by: __, task: ___, created_at: ____, updated_at: _____, more: ______, ...content } = note
  return { ...content, title: fold(note.title) }
}

function replaceNote({ file, created_at, more }: Note, note: Note): Note {
  return { ...note, file, created_at: created_at ?? note.created_at, more }
}

function mergeNotes(target: Note, { title, body, tags, by, updated_at }: Note): Note | undefined {
  const section = `## ${title}\n\n${body}`
  const before = findSection(target.body, title)
  const both = before === undefined ? `${target.body}\n\n${section}` : target.body.replace(before, () => section)
  if (both.length > NOTE_LIMITS.body * MERGED) return undefined
  const allTags = [...new Set([...target.tags, ...tags])].slice(0, NOTE_LIMITS.tags)
  return { ...target, tags: allTags, body: both, by, updated_at }
}

/** The section that was added under this title before; the new one replaces it. */
function findSection(body: string, title: string): string | undefined {
  const begin = `\n\n${body}`.indexOf(`\n\n## ${title}\n\n`)
  if (begin < 0) return undefined
  const rest = body.slice(begin)
  const end = rest.indexOf('\n\n## ', 1)
  return end < 0 ? rest : rest.slice(0, end)
}

/** How many full notes may be merged into one. */
const MERGED = 2

/** `totals-are-cents.md`, with a number if that name is taken. */
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
