import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { BrokenNote, Note } from '../../knowledge/notes/note.ts'
import { NOTES_FOLDER, type Notes, readNotes } from '../../knowledge/notes/read-notes.ts'
import { neutral } from '../render/text.ts'

/** The notes of the project that a person means. */
export function notesIn(project: string | undefined): Notes & { project: string } {
  const path = resolve(project ?? '.')
  return { project: path, ...readNotes(path) }
}

type Named = { note: Note } | { broken: BrokenNote }

/** The one note, or broken file, that a person names: by its file, its title, or a beginning of either that fits only one. */
export function noteNamed(ref: string, { notes, broken }: Notes): Named {
  const wanted = fold(ref.replace(/^.*\//, ''))
  const all: { names: string[]; found: Named }[] = [
    ...notes.map(note => ({ names: [note.file, bare(note.file), note.title].map(fold), found: { note } })),
    ...broken
      .filter(({ file }) => file !== '.')
      .map(each => ({ names: [each.file, bare(each.file)].map(fold), found: { broken: each } })),
  ]
  const exact = all.filter(({ names }) => names.includes(wanted))
  const near = exact.length > 0 ? exact : all.filter(({ names }) => names.some(name => name.startsWith(wanted)))
  const [only, ...others] = wanted === '' ? [] : near
  if (!only) throw new AppError('note_unknown', { ref: neutral(ref), folder: NOTES_FOLDER })
  if (others.length > 0) {
    const matches = near.slice(0, 8).map(({ found }) => neutral('note' in found ? found.note.file : found.broken.file))
    throw new AppError('note_ambiguous', { ref: neutral(ref), matches: matches.join(', ') })
  }
  return only.found
}

function bare(file: string): string {
  return file.replace(/\.md$/i, '')
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}
