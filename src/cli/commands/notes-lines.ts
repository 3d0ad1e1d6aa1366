import { join, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import type { BrokenNote, Note } from '../../knowledge/note.ts'
import { NOTES_FOLDER, type NotesRead, readNotes } from '../../knowledge/read-notes.ts'
import { ago } from '../render/format.ts'
import { cut, firstLine, pad, type Terminal, widthOf, wrap } from '../render/text.ts'

/** Wider lines are hard to read, however wide the terminal is. */
const MAX_WIDTH = 100

export interface ListedNotes {
  notes: readonly Note[]
  /** The words or tags that were searched for; empty if all notes are listed. */
  words: string
  now: number
}

/** For each note its title, author and time, then its file and tags, then how its text begins. */
export function noteLines({ notes, words, now }: ListedNotes, { paint, width }: Terminal): string[] {
  if (notes.length === 0) return [words === '' ? NO_NOTES : `No note matches "${neutral(words)}".`]
  const lineWidth = Math.min(width, MAX_WIDTH)
  return notes.flatMap((note, index) => {
    const tags = note.tags.map(tag => `#${firstLine(tag)}`).join(' ')
    const origin = describeOrigin(note, now)
    const title = cut(firstLine(note.title), Math.max(20, lineWidth - widthOf(origin) - 2))
    const gap = Math.max(2, lineWidth - widthOf(title) - widthOf(origin))
    const isWide = Number.isFinite(width)
    return [
      ...(index === 0 ? [] : ['']),
      `${paint('bold', isWide ? pad(title, widthOf(title) + gap) : `${title}  `)}${paint('dim', origin)}`,
      `  ${paint('dim', firstLine(note.file))}${tags === '' ? '' : `  ${paint('cyan', cut(tags, Math.max(10, lineWidth - widthOf(note.file) - 4)))}`}`,
      ...wrap(flattenBody(note), lineWidth - 2)
        .slice(0, 2)
        .map(
          (line, at, lines) => `  ${line}${at === 1 && lines.length === 2 && isLonger(note, lineWidth) ? ' …' : ''}`,
        ),
    ]
  })
}

const NO_NOTES = 'No notes yet. Write one with: pcc notes add "a title" "what is worth knowing" --tags one,two'

/** A note in full. */
export function notePage(note: Note, { paint, width }: Terminal, now: number): string[] {
  const { title, tags, feature, file, body } = note
  const facts = [
    ...(tags.length > 0 ? [tags.map(tag => `#${firstLine(tag)}`).join(' ')] : []),
    ...(feature === undefined ? [] : [`feature ${firstLine(feature)}`]),
    describeOrigin(note, now),
    firstLine(join(NOTES_FOLDER, file)),
  ]
  const lineWidth = Math.min(width, MAX_WIDTH)
  return [
    paint('bold', firstLine(title)),
    ...wrap(facts.join(' · '), lineWidth).map(line => paint('dim', line)),
    '',
    ...wrap(neutral(body), lineWidth),
  ]
}

/** Files that could not be parsed as notes. */
export function brokenLines(broken: readonly BrokenNote[], { paint }: Terminal): string[] {
  return broken.map(({ file, problem }) => {
    const name = file === '.' ? NOTES_FOLDER : join(NOTES_FOLDER, file)
    return `${paint('yellow', 'warning:')} ${firstLine(name)} is left out: ${firstLine(problem)}`
  })
}

/** The text on one line, with headings as sentences. */
function flattenBody({ body }: Note): string {
  return neutral(body)
    .replace(/^#+\s+(.*)$/gm, '$1:')
    .replace(/\s+/g, ' ')
}

function isLonger(note: Note, lineWidth: number): boolean {
  return wrap(flattenBody(note), lineWidth - 2).length > 2
}

function describeOrigin({ by, task, updated_at, created_at }: Note, now: number): string {
  const time = Date.parse(updated_at ?? created_at ?? '')
  const who = by === 'agent' ? `agent${task ? ` of ${firstLine(task)}` : ''}` : 'person'
  return Number.isNaN(time) ? who : `${who}, ${ago(now - time)}`
}

/** Reads the notes of a project, by default of the current directory. */
export function readProjectNotes(project: string | undefined): NotesRead & { project: string } {
  const path = resolve(project ?? '.')
  return { project: path, ...readNotes(path) }
}

type FoundNote = { note: Note } | { broken: BrokenNote }

/** Finds the note, or broken file, that a person names by its file, its title, or a unique beginning of either. */
export function findNote(ref: string, { notes, broken }: NotesRead): FoundNote {
  const wanted = normalize(ref.replace(/^.*\//, ''))
  const all: { names: string[]; found: FoundNote }[] = [
    ...notes.map(note => ({
      names: [note.file, withoutExtension(note.file), note.title].map(normalize),
      found: { note },
    })),
    ...broken
      .filter(({ file }) => file !== '.')
      .map(note => ({ names: [note.file, withoutExtension(note.file)].map(normalize), found: { broken: note } })),
  ]
  const exact = all.filter(({ names }) => names.includes(wanted))
  const matching = exact.length > 0 ? exact : all.filter(({ names }) => names.some(name => name.startsWith(wanted)))
  const [only, ...others] = wanted === '' ? [] : matching
  if (!only) throw new AppError('note_unknown', { ref: neutral(ref), folder: NOTES_FOLDER })
  if (others.length > 0) {
    const matches = matching
      .slice(0, 8)
      .map(({ found }) => neutral('note' in found ? found.note.file : found.broken.file))
    throw new AppError('note_ambiguous', { ref: neutral(ref), matches: matches.join(', ') })
  }
  return only.found
}

function withoutExtension(file: string): string {
  return file.replace(/\.md$/i, '')
}

function normalize(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}

/** A note as `--json` shows it. */
export function noteView({ file, title, tags, feature, by, task, created_at, updated_at, body }: Note) {
  return {
    file: join(NOTES_FOLDER, file),
    ...{ title, tags, feature: feature ?? null, by, task: task ?? null },
    ...{ created_at: created_at ?? null, updated_at: updated_at ?? created_at ?? null, body },
  }
}
