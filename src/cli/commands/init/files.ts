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

/** What `pcc init` does with one path of a project, decided before anything is written. */
export interface InitStep {
  /** Relative to the project; a folder ends with a slash. */
  path: string
  does: 'create' | 'change' | 'keep' | 'leave'
  /** Why, unless that is obvious. */
  why?: string
  /** The new content of the file. */
  content?: string
  /** The present content, to restore it if a later step fails. */
  before?: string
}

/** A file that `pcc init` writes if it does not exist. */
export interface WantedFile {
  path: string
  content: string
}

interface InitPlan {
  /** Files, and folders by their path. */
  entries: readonly (WantedFile | string)[]
  /** Whether the project is in git, so that a `.gitignore` has an effect. */
  ignore: boolean
}

/** Decides what to create, change and keep, without touching anything. A person's file is never replaced. */
export function planSteps(project: string, { entries, ignore }: InitPlan): InitStep[] {
  return [
    ...entries.map(entry => (typeof entry === 'string' ? folderStep(project, entry) : fileStep(project, entry))),
    ...(ignore ? [ignoreStep(project)] : []),
  ]
}

function folderStep(project: string, path: string): InitStep {
  const entry = findEntry(project, path)
  if (entry.kind === 'nothing') return { path: `${path}/`, does: 'create' }
  if (entry.kind === 'folder') return { path: `${path}/`, does: 'keep' }
  return { path: `${path}/`, does: 'leave', why: entry.kind === 'blocked' ? entry.why : 'a file has this name' }
}

function fileStep(project: string, { path, content }: WantedFile): InitStep {
  const entry = findEntry(project, path)
  if (entry.kind === 'nothing') return { path, does: 'create', content }
  if (entry.kind === 'blocked') return { path, does: 'leave', why: entry.why }
  if (entry.kind === 'folder') return { path, does: 'leave', why: 'a folder has this name' }
  const before = readText(join(project, path))
  if (before === undefined) return { path, does: 'keep', why: 'it is yours, and not text' }
  if (before.replaceAll('\r\n', '\n') === content) return { path, does: 'keep' }
  if (!isUntouched(before)) return { path, does: 'keep', why: 'it is yours' }
  if (entry.isLink) return { path, does: 'keep', why: 'it is a link' }
  const updated = before.includes('\r\n') ? content.replaceAll('\n', '\r\n') : content
  return { path, does: 'change', why: 'nobody had changed it, and there is a new version', content: updated, before }
}

function ignoreStep(project: string): InitStep {
  const path = '.gitignore'
  const entry = findEntry(project, path)
  if (entry.kind === 'blocked') return { path, does: 'leave', why: entry.why }
  if (entry.kind === 'folder') return { path, does: 'leave', why: 'a folder has this name' }
  if (entry.kind === 'file' && entry.isLink) return { path, does: 'leave', why: 'git does not follow it: it is a link' }
  const before = entry.kind === 'nothing' ? undefined : readText(join(project, path))
  if (entry.kind === 'file' && before === undefined) return { path, does: 'leave', why: 'it cannot be read as text' }
  const edit = withIgnoreLines(before)
  if ('kept' in edit) return { path, does: 'keep', why: edit.kept }
  if (before === undefined) return { path, does: 'create', content: edit.text }
  const count = IGNORE_LINES.length
  return { path, does: 'change', why: `${count} lines at its end`, content: edit.text, before }
}

/** The text of a file; `undefined` if it is not text. */
function readText(path: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path))
  } catch {
    return undefined // such a file is kept as it is
  }
}

/** Applies all steps or none: if one fails, those before it are undone. */
export function applySteps(project: string, steps: readonly InitStep[]): void {
  const changes = steps.filter(({ does }) => does === 'create' || does === 'change')
  for (const { path } of changes) refuseUnwritable(project, findNearestFolder(project, path.replace(/\/$/, '')))
  const undo: (() => void)[] = []
  try {
    for (const step of changes) applyStep(join(project, step.path), step, undo)
  } catch (thrown) {
    for (const revert of undo.reverse()) tryRevert(revert)
    throw notWritableError(project, thrown)
  }
}

function applyStep(fullPath: string, { path, does, content = '', before = '' }: InitStep, undo: (() => void)[]): void {
  if (path.endsWith('/')) {
    makeFolder(fullPath.slice(0, -1), undo)
    return
  }
  if (does === 'change') {
    const mode = statSync(fullPath).mode & 0o777
    replaceFile(fullPath, content, mode)
    undo.push(() => {
      if (readFileSync(fullPath, 'utf8') === content) replaceFile(fullPath, before, mode)
    })
    return
  }
  makeFolder(dirname(fullPath), undo)
  // Exclusive, so that a file that somebody created in the meantime is not overwritten.
  writeFileSync(fullPath, content, { flag: 'wx' })
  undo.push(() => rmSync(fullPath, { force: true }))
}

/** A folder into which somebody else put a file in the meantime cannot be removed and stays. */
function tryRevert(revert: () => void): void {
  try {
    revert()
  } catch {
    // the first failure is the one that is reported
  }
}

function makeFolder(path: string, undo: (() => void)[]): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) return
  if (!stats) makeFolder(dirname(path), undo)
  mkdirSync(path)
  undo.push(() => rmdirSync(path))
}

function refuseUnwritable(project: string, folder: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (thrown) {
    throw notWritableError(folder === project ? project : folder, thrown)
  }
}

function notWritableError(path: string, thrown: unknown): AppError {
  return new AppError('project_not_writable', { path, problem: describeError(thrown) }, thrown)
}

/** Reduces `EACCES: permission denied, access '/x'` to `permission denied`. */
function describeError(thrown: unknown): string {
  return messageOf(thrown)
    .replace(/^E[A-Z]+: /, '')
    .replace(/, \w+ '.*'$/, '')
}

export type PathEntry =
  | { kind: 'nothing' }
  | { kind: 'file'; isLink: boolean }
  | { kind: 'folder' }
  /** Nothing may be written at this path. */
  | { kind: 'blocked'; why: string }

/** Finds what is at a path of a project. Nothing is ever written through a link that leads out of the project. */
function findEntry(project: string, path: string): PathEntry {
  const parts = path.split('/')
  for (let depth = 1; depth < parts.length; depth++) {
    const parent = parts.slice(0, depth).join('/')
    const stats = readStats(join(project, parent))
    if (!stats) return { kind: 'nothing' }
    if (stats.isSymbolicLink() && !leadsInside(project, join(project, parent))) {
      return { kind: 'blocked', why: `${parent} is a link that leads out of the project` }
    }
    if (!isFolder(join(project, parent))) return { kind: 'blocked', why: `${parent} is a file` }
  }
  const fullPath = join(project, path)
  const stats = readStats(fullPath)
  if (!stats) return { kind: 'nothing' }
  if (stats.isSymbolicLink() && !leadsInside(project, fullPath)) {
    return { kind: 'blocked', why: 'it is a link that leads out of the project, or nowhere' }
  }
  if (isFolder(fullPath)) return { kind: 'folder' }
  if (!statSync(fullPath).isFile()) return { kind: 'blocked', why: 'it is neither a file nor a folder' }
  return { kind: 'file', isLink: stats.isSymbolicLink() }
}

/** The nearest existing folder above a path of the project. */
function findNearestFolder(project: string, path: string): string {
  let folder = dirname(join(project, path))
  while (folder !== project && !readStats(folder)) folder = dirname(folder)
  return folder
}

function readStats(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function leadsInside(project: string, path: string): boolean {
  try {
    const target = realpathSync(path)
    return target === project || target.startsWith(project + sep)
  } catch {
    return false // the link is broken, or leads in a circle
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Makes git ignore everything that pcc keeps in its folder, but not what a person writes there. */
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
 * A `.gitignore` with our lines at its end, in its own line endings, with or without a last newline as before. A file that
 * already mentions `.perpetualcc/` is left as it is: somebody who removed a line meant to.
 */
export function withIgnoreLines(before: string | undefined): IgnoreEdit {
  const lines = (before ?? '').split(/\r?\n/).map(line => line.trim())
  const ours = lines.filter(line => /^[!/]*(\*\*\/)?\.perpetualcc(\/|$)/.test(line))
  if (ours.length > 0) return { kept: describeIgnored(ours) }
  if (before === undefined || before === '') return { text: `${IGNORE_LINES.join('\n')}\n` }
  const newline = findNewline(before)
  const isEnded = before.endsWith('\n')
  const block = IGNORE_LINES.join(newline)
  const gap = /(^|\n)\r?\n$/.test(before) ? '' : newline
  return { text: `${before}${isEnded ? '' : newline}${gap}${block}${isEnded ? newline : ''}` }
}

function describeIgnored(ours: string[]): string {
  const missing = IGNORE_LINES.filter(line => !line.startsWith('#') && !ours.includes(line))
  if (missing.length === 0) return 'has the lines already'
  if (ours.some(line => /^\/?\.perpetualcc\/?$/.test(line)))
    return 'ignores all of .perpetualcc/, features and notes too'
  return `already has lines for .perpetualcc/; missing: ${missing.join('  ')}`
}

/** The line ending of most lines. */
function findNewline(text: string): string {
  const all = text.split('\n').length - 1
  const crlf = text.split('\r\n').length - 1
  return crlf > all / 2 ? '\r\n' : '\n'
}

const STAMP_TEXT =
  'As long as nothing else is changed here, pcc init keeps this file up to date; after that it is yours.'
const STAMP_LINE = /^(?:# |<!-- )pcc init ([0-9a-f]{16})\. .*(?:\n|$)/m

/** Appends a line with a hash, which tells later whether somebody has changed the text. */
export function addStamp(text: string, form: 'toml' | 'markdown'): string {
  const stamp = `pcc init ${hashOf(text)}. ${STAMP_TEXT}`
  return `${text}${form === 'toml' ? `# ${stamp}` : `<!-- ${stamp} -->`}\n`
}

/** Whether a text is exactly what some `pcc init` wrote, apart from line endings, which git may change. */
export function isUntouched(text: string): boolean {
  const plain = text.replaceAll('\r\n', '\n')
  const stamp = STAMP_LINE.exec(plain)
  return stamp !== null && hashOf(plain.replace(stamp[0], '')) === stamp[1]
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
