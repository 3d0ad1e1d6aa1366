import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { Document, isCollection, parse, YAMLParseError } from 'yaml'
import * as z from 'zod'
import type { AppPaths } from '../base/app-paths.ts'
import { messageOf } from '../base/errors.ts'
import { type BrokenNote, cleanNoteText, cleanTags, NOTE_LIMITS, type Note } from './note.ts'

/** Where a project keeps its notes, from its top. */
export const NOTES_FOLDER = join('.perpetualcc', 'knowledge')

/** Held while notes are read and written: the daemon and the command line may do so at once. */
export function notesLock({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'notes.lock')
}

/** More files than these are not looked at: they are read before every task. */
export const MOST_NOTES = 500
/** A note is a page, not a book. */
const MOST_BYTES = 64_000

export interface NotesRead {
  directory: string
  /** By the names of their files. */
  notes: Note[]
  /** What lies among them and is none. */
  broken: BrokenNote[]
}

/** The notes of a project, and what lies among them and cannot be read as one. Never throws. */
export function readNotes(project: string): NotesRead {
  const directory = join(project, NOTES_FOLDER)
  const found: NotesRead = { directory, notes: [], broken: [] }
  const outside = explainOutsideLink(project)
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
export function explainOutsideLink(project: string): string | undefined {
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

/** More than anybody writes about a note; YAML can be made to take very long. */
const LONGEST_FRONT = 8_000

/** The note that a file holds, or what is wrong with it. */
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

/** The file of a note. */
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

/** By this a note that an agent wrote is known to be as it left it: one that a person has changed is theirs. */
function sealOf(title: string, body: string): string {
  return createHash('sha256').update(`${title}\n${body}`).digest('hex').slice(0, 12)
}

function readFront(text: string): { front: z.infer<typeof Front> } | { problem: string } {
  let value: unknown
  try {
    value = plainFront(text) ?? parse(text, { maxAliasCount: 10, schema: 'core', logLevel: 'error' })
  } catch (error) {
    return { problem: `its front matter is no YAML: ${yamlProblem(error)}` }
  }
  const read = Front.safeParse(value)
  if (read.success) return { front: read.data }
  const [issue] = read.error.issues
  const where = issue?.path.join('.')
  if (where === 'title' || !where) return { problem: 'its front matter has no title' }
  return { problem: `its front matter has a wrong ${where}` }
}

/** Where in the file: the front matter begins on its second line. */
function yamlProblem(error: unknown): string {
  const [message = ''] = messageOf(error).split(/ at line \d+|\n/)
  const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined
  return line === undefined ? message : `line ${line + 1}, ${message}`
}

/** Text that YAML takes as it stands: it begins with a letter and holds nothing that means something there. */
const WORDS = /^\p{L}[\p{L}\p{N} ._/()+-]*$/u
/** Those of them that are no text to it. */
const OTHER = /^(true|false|null|yes|no|on|off|y|n|\.nan|\.inf)$/i
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
/** Of letters that make no number. */
const HEX = /^(?=[0-9a-f]*[abcdf])[0-9a-f]{4,64}$/
const LIST = /^\[([^[\]]*)\]$/

/**
 * Front matter that is a plain word or a list of them behind each key, as most is, without a parser for all of YAML: notes are read
 * before every task, and that takes a millisecond for each. Undefined for anything else, which is left to the parser. Pure.
 */
export function plainFront(text: string): Record<string, string | string[]> | undefined {
  const front: Record<string, string | string[]> = {}
  for (const line of text.split('\n')) {
    const [, key, given = ''] = /^([a-z][a-z_]*): (.*)$/.exec(line) ?? []
    if (key === undefined || Object.hasOwn(front, key)) return undefined
    const value = plainValue(given)
    if (value === undefined) return undefined
    front[key] = value
  }
  return front
}

function plainValue(text: string): string | string[] | undefined {
  const list = LIST.exec(text)?.[1]
  if (list === undefined) return isPlain(text) ? text : undefined
  if (list === '') return []
  const items = list.split(',').map(item => item.trim())
  return items.every(item => isPlain(item)) ? items : undefined
}

function isPlain(text: string): boolean {
  return (WORDS.test(text) && !OTHER.test(text) && !text.endsWith(' ')) || TIME.test(text) || HEX.test(text)
}
