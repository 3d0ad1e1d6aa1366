import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Document, isCollection, parse, YAMLParseError } from 'yaml'
import * as z from 'zod'
import type { AppPaths } from '../base/app-paths.ts'
import { messageOf } from '../base/errors.ts'
import { isInside } from '../base/is-inside.ts'
import { openFolderBelow } from '../base/real-folder.ts'
import { type BrokenNote, cleanNoteText, cleanTags, NOTE_LIMITS, type Note } from './note.ts'

/** The folder of a project's notes, relative to its top. */
export const NOTES_FOLDER = join('.perpetualcc', 'knowledge')

/** The lock to hold while notes are read and written: the daemon and the command line may do so at the same time. */
export function notesLock({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'notes.lock')
}

/** More files are not read, because notes are read before every task. */
export const MOST_NOTES = 500
/** A note is a page, not a book. */
const MOST_BYTES = 64_000

export interface NotesRead {
  directory: string
  /** Sorted by file name. */
  notes: Note[]
  /** Files that could not be parsed as notes. */
  broken: BrokenNote[]
}

/** The notes of a project, and the files that could not be parsed as notes. Never throws. `isOver` ends the reading early. */
export function readNotes(project: string, isOver: () => boolean = () => false): NotesRead {
  const directory = join(project, NOTES_FOLDER)
  const result: NotesRead = { directory, notes: [], broken: [] }
  const opened = openNotesFolder(project)
  if (typeof opened === 'string') return { ...result, broken: [{ file: '.', problem: opened }] }
  if (!opened) return result
  using folder = opened
  const names = listFiles(folder.at('.'))
  if (typeof names === 'string') return { ...result, broken: [{ file: '.', problem: names }] }
  for (const file of names.slice(0, MOST_NOTES)) {
    if (isOver()) break
    const read = readNote(folder.at(file), file)
    if ('problem' in read) result.broken.push({ file, problem: read.problem })
    else result.notes.push(read)
  }
  const more = names.length - MOST_NOTES
  if (more > 0)
    result.broken.push({ file: '.', problem: `${more} more files are not read: the limit is ${MOST_NOTES}` })
  return result
}

/**
 * Opens the folder of a project's notes, or explains why it is not to be used; undefined if there is none. It is held open, because an agent
 * could put a link in its place while it is read or written.
 */
export function openNotesFolder(project: string, options: { make?: boolean } = {}) {
  try {
    return openFolderBelow(project, NOTES_FOLDER, options) ?? explainOutsideLink(project)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOTDIR') return `${NOTES_FOLDER} is not a directory; move the file there away`
    if (code === 'ENOENT' && !options.make) return undefined
    if (options.make) throw error
    return `${NOTES_FOLDER} cannot be read (${code})`
  }
}

/** Which folder is the link that leads out of the project. */
function explainOutsideLink(project: string): string {
  const top = realpathSync(project)
  const folder = [dirname(NOTES_FOLDER), NOTES_FOLDER].find(each => !isInside(realpathSync(join(project, each)), top))
  return `${folder ?? NOTES_FOLDER} is a link out of the project, to ${realpathSync(join(project, folder ?? NOTES_FOLDER))}`
}

/** Reads one file, if it is a plain file of a sensible size. Its size is read from the handle, so that the file cannot be swapped. */
function readNote(path: string, file: string): Note | { problem: string } {
  try {
    const stats = lstatSync(path)
    if (stats.isSymbolicLink()) return { problem: 'it is a link' }
    if (!stats.isFile()) return { problem: 'it is not a plain file' }
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

/** Hidden files (a temporary file, a `.gitkeep`) are no notes. */
function listFiles(directory: string): string[] | string {
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

const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const Front = z.looseObject({
  title: Text,
  tags: z.union([z.array(Text), Text.transform(tags => tags.split(','))]).nullish(),
  feature: Text.nullish(),
  by: z.string().nullish(),
  task: z.string().nullish(),
  seal: z.string().nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
})

/** More than anybody writes about a note; malicious YAML can take very long to parse. */
const LONGEST_FRONT = 8_000

/** The note in a file, or what is wrong with it. */
export function parseNote(file: string, text: string): Note | { problem: string } {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  if (lines[0]?.trimEnd() !== '---') return { problem: 'it does not begin with front matter (a line ---)' }
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)\s*$/.test(line))
  if (end < 0) return { problem: 'its front matter is not closed by a line ---' }
  const front = lines.slice(1, end).join('\n')
  if (front.length > LONGEST_FRONT) return { problem: `its front matter is longer than ${LONGEST_FRONT} characters` }
  const read = readFront(front)
  if ('problem' in read) return read
  const { title, tags, feature, by, task, seal, created_at, updated_at, ...more } = read.front
  const name = cleanNoteText(title).replace(/\s+/g, ' ').slice(0, NOTE_LIMITS.title).toWellFormed()
  if (name === '') return { problem: 'its title is empty' }
  const body = cleanNoteText(lines.slice(end + 1).join('\n'))
  return {
    ...{ file, title: name, tags: cleanTags(tags ?? []), body, more },
    by: by === 'agent' && seal === sealOf(name, body) ? 'agent' : 'person',
    ...(feature != null && { feature: cleanNoteText(feature) }),
    ...(task != null && { task }),
    ...(created_at != null && { created_at }),
    ...(updated_at != null && { updated_at }),
  }
}

/** The text of a note's file. */
export function noteText({ title, tags, feature, by, task, created_at, updated_at, body, more }: Note): string {
  const front = {
    ...{ title, tags },
    ...(feature !== undefined && { feature }),
    ...(created_at !== undefined && { created_at }),
    ...(updated_at !== undefined && updated_at !== created_at && { updated_at }),
    ...(by === 'agent' && { by, ...(task !== undefined && { task }), seal: sealOf(title, body) }),
    ...more,
  }
  const document = new Document(front)
  const list = document.get('tags', true)
  if (isCollection(list)) list.flow = true
  return `---\n${document.toString({ lineWidth: 0, flowCollectionPadding: false })}---\n\n${body}\n`
}

/** The seal shows that an agent's note is unchanged: a note that a person has changed is the person's. */
function sealOf(title: string, body: string): string {
  return createHash('sha256').update(`${title}\n${body}`).digest('hex').slice(0, 12)
}

function readFront(text: string): { front: z.infer<typeof Front> } | { problem: string } {
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 10, schema: 'core', logLevel: 'error' })
  } catch (error) {
    return { problem: `its front matter is not YAML: ${yamlProblem(error)}` }
  }
  const read = Front.safeParse(value)
  if (read.success) return { front: read.data }
  const [issue] = read.error.issues
  const where = issue?.path.join('.')
  if (where === 'title' || !where) return { problem: 'its front matter has no title' }
  return { problem: `its front matter has a wrong ${where}` }
}

/** The problem with its line in the file: the front matter begins on the second line. */
function yamlProblem(error: unknown): string {
  const [message = ''] = messageOf(error).split(/ at line \d+|\n/)
  const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined
  return line === undefined ? message : `line ${line + 1}, ${message}`
}
