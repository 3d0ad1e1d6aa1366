import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import type { Places } from '../../base/places.ts'
import type { BrokenNote, Note } from './note.ts'
import { parseNote } from './parse.ts'

/** Where a project keeps its notes, from its top. */
export const NOTES_FOLDER = join('.perpetualcc', 'knowledge')

/** Held while notes are read and written: the daemon and the command line may do so at once. */
export function notesLock({ home }: Pick<Places, 'home'>): string {
  return join(home, 'notes.lock')
}

/** More files than these are not looked at: they are read before every task. */
export const MOST_NOTES = 500
/** A note is a page, not a book. */
const MOST_BYTES = 64_000

export interface Notes {
  directory: string
  /** By the names of their files. */
  notes: Note[]
  /** What lies among them and is none. */
  broken: BrokenNote[]
}

/** The notes of a project, and what lies among them and cannot be read as one. Never throws. */
export function readNotes(project: string): Notes {
  const directory = join(project, NOTES_FOLDER)
  const found: Notes = { directory, notes: [], broken: [] }
  const outside = leadsOutside(project)
  if (outside !== undefined) return { ...found, broken: [{ file: '.', problem: outside }] }
  const names = namesIn(directory)
  if (typeof names === 'string') return { ...found, broken: [{ file: '.', problem: names }] }
  for (const file of names.slice(0, MOST_NOTES)) {
    const read = readNote(directory, file)
    if ('problem' in read) found.broken.push({ file, problem: read.problem })
    else found.notes.push(read)
  }
  const more = names.length - MOST_NOTES
  if (more > 0)
    found.broken.push({ file: '.', problem: `${more} more files are not looked at: ${MOST_NOTES} are the most` })
  return found
}

/** Why the folder of the notes is not the project's own: a link leads out of it. Undefined where all is well, or nothing there. */
export function leadsOutside(project: string): string | undefined {
  try {
    const top = realpathSync(project)
    for (const folder of [dirname(NOTES_FOLDER), NOTES_FOLDER]) {
      const real = realpathSync(join(project, folder))
      if (!real.startsWith(`${top}${sep}`)) return `${folder} is a link out of the project, to ${real}`
    }
    return undefined
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : `${NOTES_FOLDER} cannot be read (${codeOf(error)})`
  }
}

/** One file, if it is a plain one of a sensible size. The handle is what is looked at, so that nothing can be put in its place. */
function readNote(directory: string, file: string): Note | { problem: string } {
  try {
    const path = join(directory, file)
    const kind = lstatSync(path)
    if (kind.isSymbolicLink()) return { problem: 'it is a link' }
    if (!kind.isFile()) return { problem: 'it is no plain file' }
    const handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { size } = fstatSync(handle)
      if (size > MOST_BYTES) return { problem: `it is larger than ${MOST_BYTES / 1000} KB` }
      return parseNote(file, new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(handle)))
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    return { problem: error instanceof TypeError ? 'it is not text in UTF-8' : `it cannot be read (${codeOf(error)})` }
  }
}

/** Hidden files (one that is just being written, a `.gitkeep`) are nobody's notes. */
function namesIn(directory: string): string[] | string {
  try {
    return readdirSync(directory)
      .filter(name => /\.md$/i.test(name) && !name.startsWith('.'))
      .sort()
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? [] : `the folder cannot be read (${codeOf(error)})`
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
