import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { AppError, messageOf } from '../../../base/errors.ts'
import { replaceFile } from '../../../base/files.ts'

/** What becomes of one path of a project, decided before anything is written. */
export interface InitStep {
  /** Relative to the project; a folder ends with a slash. */
  path: string
  does: 'create' | 'change' | 'keep' | 'leave'
  /** Why, where that does not go without saying. */
  why?: string
  /** What the file is to hold. */
  content?: string
  /** What it holds now, to put it back when a later one fails. */
  before?: string
}

/** A file that `pcc init` writes where there is none. */
export interface WantedFile {
  path: string
  content: string
}

interface Wanted {
  /** Files, and folders by their path. */
  things: readonly (WantedFile | string)[]
  /** There is a git that would heed a `.gitignore`. */
  ignore: boolean
}

/** Decides what is made and what is left, and touches nothing. A person's file is never replaced. */
export function planSteps(project: string, { things, ignore }: Wanted): InitStep[] {
  return [
    ...things.map(each => (typeof each === 'string' ? folderStep(project, each) : fileStep(project, each))),
    ...(ignore ? [ignoreStep(project)] : []),
  ]
}

function folderStep(project: string, path: string): InitStep {
  const there = entryAt(project, path)
  if (there.kind === 'nothing') return { path: `${path}/`, does: 'create' }
  if (there.kind === 'folder') return { path: `${path}/`, does: 'keep' }
  return { path: `${path}/`, does: 'leave', why: there.kind === 'barred' ? there.why : 'a file has this name' }
}

function fileStep(project: string, { path, content }: WantedFile): InitStep {
  const there = entryAt(project, path)
  if (there.kind === 'nothing') return { path, does: 'create', content }
  if (there.kind === 'barred') return { path, does: 'leave', why: there.why }
  if (there.kind === 'folder') return { path, does: 'leave', why: 'a folder has this name' }
  const before = textOf(join(project, path))
  if (before === undefined) return { path, does: 'keep', why: 'it is yours, and not text' }
  if (before.replaceAll('\r\n', '\n') === content) return { path, does: 'keep' }
  if (!isUntouched(before)) return { path, does: 'keep', why: 'it is yours' }
  if (there.isLink) return { path, does: 'keep', why: 'it is a link' }
  const fresh = before.includes('\r\n') ? content.replaceAll('\n', '\r\n') : content
  return { path, does: 'change', why: 'nobody had changed it, and there is news', content: fresh, before }
}

function ignoreStep(project: string): InitStep {
  const path = '.gitignore'
  const there = entryAt(project, path)
  if (there.kind === 'barred') return { path, does: 'leave', why: there.why }
  if (there.kind === 'folder') return { path, does: 'leave', why: 'a folder has this name' }
  if (there.kind === 'file' && there.isLink) return { path, does: 'leave', why: 'git does not follow it: it is a link' }
  const before = there.kind === 'nothing' ? undefined : textOf(join(project, path))
  if (there.kind === 'file' && before === undefined) return { path, does: 'leave', why: 'it cannot be read as text' }
  const edit = withIgnoreLines(before)
  if ('kept' in edit) return { path, does: 'keep', why: edit.kept }
  if (before === undefined) return { path, does: 'create', content: edit.text }
  const count = IGNORE_LINES.length
  return { path, does: 'change', why: `${count} lines at its end`, content: edit.text, before }
}

/** The text of a file, if it is one. */
function textOf(path: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch {
    return undefined // whatever it is, it stays
  }
}

/** Does what was planned, all of it or nothing: where one fails, what was done before it is undone. */
export function applySteps(project: string, steps: readonly InitStep[]): void {
  const work = steps.filter(({ does }) => does === 'create' || does === 'change')
  for (const { path } of work) refuseUnwritable(project, nearestFolder(project, path.replace(/\/$/, '')))
  const undo: (() => void)[] = []
  try {
    for (const step of work) applyStep(join(project, step.path), step, undo)
  } catch (thrown) {
    for (const back of undo.reverse()) tryEach(back)
    throw notWritable(project, thrown)
  }
}

function applyStep(at: string, { path, does, content = '', before = '' }: InitStep, undo: (() => void)[]): void {
  if (path.endsWith('/')) {
    makeFolder(at.slice(0, -1), undo)
    return
  }
  if (does === 'change') {
    const mode = statSync(at).mode & 0o777
    replaceFile(at, content, mode)
    undo.push(() => {
      if (readFileSync(at, 'utf8') === content) replaceFile(at, before, mode)
    })
    return
  }
  makeFolder(dirname(at), undo)
  // Exclusive: what somebody made in the meantime is theirs.
  writeFileSync(at, content, { flag: 'wx' })
  undo.push(() => rmSync(at, { force: true }))
}

/** What somebody else put into a folder of ours in the meantime stays, and the folder with it. */
function tryEach(back: () => void): void {
  try {
    back()
  } catch {
    // what failed first is told
  }
}

function makeFolder(at: string, undo: (() => void)[]): void {
  const found = statSync(at, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (!found) makeFolder(dirname(at), undo)
  mkdirSync(at)
  undo.push(() => rmdirSync(at))
}

function refuseUnwritable(project: string, folder: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (thrown) {
    throw notWritable(folder === project ? project : folder, thrown)
  }
}

function notWritable(path: string, thrown: unknown): AppError {
  return new AppError('project_not_writable', { path, problem: plainly(thrown) }, thrown)
}

/** `EACCES: permission denied, access '/x'` as a person would say it. */
function plainly(thrown: unknown): string {
  return messageOf(thrown)
    .replace(/^E[A-Z]+: /, '')
    .replace(/, \w+ '.*'$/, '')
}

export type PathEntry =
  | { kind: 'nothing' }
  | { kind: 'file'; isLink: boolean }
  | { kind: 'folder' }
  /** Nothing may be written there. */
  | { kind: 'barred'; why: string }

/** What stands at a path of a project. Nothing is ever written through a link that leads out of the project. */
function entryAt(project: string, path: string): PathEntry {
  const parts = path.split('/')
  for (let depth = 1; depth < parts.length; depth++) {
    const above = parts.slice(0, depth).join('/')
    const found = look(join(project, above))
    if (!found) return { kind: 'nothing' }
    if (found.isSymbolicLink() && !leadsInside(project, join(project, above))) {
      return { kind: 'barred', why: `${above} is a link that leads out of the project` }
    }
    if (!isFolder(join(project, above))) return { kind: 'barred', why: `${above} is a file` }
  }
  const at = join(project, path)
  const found = look(at)
  if (!found) return { kind: 'nothing' }
  if (found.isSymbolicLink() && !leadsInside(project, at)) {
    return { kind: 'barred', why: 'it is a link that leads out of the project, or nowhere' }
  }
  if (isFolder(at)) return { kind: 'folder' }
  if (!statSync(at).isFile()) return { kind: 'barred', why: 'it is neither a file nor a folder' }
  return { kind: 'file', isLink: found.isSymbolicLink() }
}

/** The nearest folder at or above a path of the project that is there. */
function nearestFolder(project: string, path: string): string {
  let at = dirname(join(project, path))
  while (at !== project && !look(at)) at = dirname(at)
  return at
}

function look(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function leadsInside(project: string, path: string): boolean {
  try {
    const target = realpathSync(path)
    return target === project || target.startsWith(project + sep)
  } catch {
    return false // it leads nowhere, or round in a circle
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** What git leaves out: all that pcc may come to keep in its folder, but not what a person writes there. */
export const IGNORE_LINES = [
  '# pcc: its index and what runs leave behind; features, notes and rules are yours to commit',
  '/.perpetualcc/*',
  '!/.perpetualcc/README.md',
  '!/.perpetualcc/features/',
  '!/.perpetualcc/knowledge/',
  '!/.perpetualcc/rules.toml',
]

export type IgnoreEdit = { text: string } | { kept: string }

/**
 * A `.gitignore` with our lines at its end, in its own line endings, with or without a last newline as it was. One that says
 * anything of `.perpetualcc/` already is left as it is: whoever took a line out of it meant that.
 */
export function withIgnoreLines(before: string | undefined): IgnoreEdit {
  const lines = (before ?? '').split(/\r?\n/).map(line => line.trim())
  const about = lines.filter(line => /^[!/]*(\*\*\/)?\.perpetualcc(\/|$)/.test(line))
  if (about.length > 0) return { kept: verdictOn(about) }
  if (before === undefined || before === '') return { text: `${IGNORE_LINES.join('\n')}\n` }
  const newline = newlineOf(before)
  const isEnded = before.endsWith('\n')
  const block = IGNORE_LINES.join(newline)
  const gap = /(^|\n)\r?\n$/.test(before) ? '' : newline
  return { text: `${before}${isEnded ? '' : newline}${gap}${block}${isEnded ? newline : ''}` }
}

function verdictOn(about: string[]): string {
  const missing = IGNORE_LINES.filter(line => !line.startsWith('#') && !about.includes(line))
  if (missing.length === 0) return 'has our lines'
  if (about.some(line => /^\/?\.perpetualcc\/?$/.test(line)))
    return 'leaves out all of .perpetualcc/, features and notes too'
  return `says what git leaves out of .perpetualcc/ in its own way; not in it: ${missing.join('  ')}`
}

/** The ending of most of its lines. */
function newlineOf(text: string): string {
  const all = text.split('\n').length - 1
  const crlf = text.split('\r\n').length - 1
  return crlf > all / 2 ? '\r\n' : '\n'
}

const WORDS = 'As long as nothing else is changed here, pcc init keeps this file up to date; after that it is yours.'
const LINE = /^(?:# |<!-- )pcc init ([0-9a-f]{16})\. .*(?:\n|$)/m

/** The text with a last line by which it is known later whether somebody has changed it. */
export function stamped(text: string, form: 'toml' | 'markdown'): string {
  const words = `pcc init ${markOf(text)}. ${WORDS}`
  return `${text}${form === 'toml' ? `# ${words}` : `<!-- ${words} -->`}\n`
}

/** Whether a text is exactly what some `pcc init` wrote, also where git has changed its line endings. */
export function isUntouched(text: string): boolean {
  const plain = text.replaceAll('\r\n', '\n')
  const line = LINE.exec(plain)
  return line !== null && markOf(plain.replace(line[0], '')) === line[1]
}

function markOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
