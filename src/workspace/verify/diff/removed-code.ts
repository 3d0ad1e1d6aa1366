import { parseSource } from '../../../base/syntax/parse-source.ts'
import type { CodeDefinition } from '../../../base/syntax/parsed-file.ts'
import { LOCK_FILE } from '../../../domain/package-managers.ts'
import type { DiffChange, DiffFile } from './change.ts'
import { codeText } from './code-piece.ts'
import { isProductCode, languageOf, nameOf } from './file-kind.ts'
import { readTestCode } from './read-tests.ts'

/** Names that were removed from the program together with their code: not those that were only renamed. */
export function removedNames(change: DiffChange, changed: readonly DiffFile[]): Set<string> {
  const files = changed.filter(file => file.kind === 'text' && languageOf(file.path) !== undefined)
  const before = files.map(file => ({
    path: file.path,
    code: codeOf(file.path, file.before ?? ''),
    text: file.before ?? '',
  }))
  const after = files.map(file => codeOf(file.path, file.after ?? '')).join('\n')
  const there = new Set(after.match(/[A-Za-z_$][\w$]*/g))
  const lines = new Set(files.flatMap(file => (file.after ?? '').split('\n').map(line => line.trim())))
  const removed = new Set<string>()
  for (const { path, text } of before)
    for (const defined of parseSource(path, text).definitions)
      if (defined.name.length > 2 && !there.has(defined.name) && !isRenamed(text, defined, lines))
        removed.add(defined.name)
  // Routes, commands and flags are names too.
  for (const { code } of before)
    for (const [, text = ''] of code.matchAll(/["'`]((?:\/|--)[\w/:{}.-]{2,60})["'`]/g))
      if (!after.includes(text)) removed.add(text)
  for (const file of files) for (const name of removedOptions(file, there)) removed.add(name)
  for (const file of files) if (file.status === 'deleted') addModule(removed, file.path, change)
  return removed
}

/** `options.loose` that no longer occurs, in a file with more removed than added lines: it was removed and not renamed. */
function removedOptions(file: DiffFile, there: ReadonlySet<string>): string[] {
  if (file.removed.length <= file.added.length) return []
  const gone = file.removed.map(({ text }) => text).join('\n')
  return [...gone.matchAll(/[.?]\.?([A-Za-z_]\w{3,})\b(?!\s*\()/g)]
    .map(([, name]) => name ?? '')
    .filter(name => !there.has(name))
}

/** Its lines still exist: it was renamed. */
function isRenamed(text: string, { startLine, endLine }: CodeDefinition, lines: ReadonlySet<string>): boolean {
  const body = text.split('\n').slice(startLine, Math.min(endLine, startLine + 40))
  const telling = body
    .map(line => line.trim())
    .filter(line => line.length > 6 && !/^(return|pass|else|break|continue)[\s;:{]*$/.test(line))
  return telling.length > 0 && telling.filter(line => lines.has(line)).length / telling.length >= 0.6
}

/** A removed module, unless a file with the same text was added. */
function addModule(removed: Set<string>, path: string, { files }: DiffChange): void {
  const gone = files.find(file => file.path === path)
  const isMoved = files.some(
    file =>
      file.status === 'added' &&
      file.after !== undefined &&
      (nameOf(file.path) === nameOf(path) || file.after === gone?.before),
  )
  if (!isMoved) removed.add(nameOf(path).replace(/\.\w+$/, ''))
}

/** Whether a text mentions a removed name. */
export function speaksOf(text: string, removed: ReadonlySet<string>): boolean {
  for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g)) if (removed.has(word)) return true
  for (const name of removed) if (/^[/-]/.test(name) && text.includes(name)) return true
  return false
}

/** Files whose change may affect what the program does: comments, blanks and tests in the file do not count. */
export function productChanges({ files }: DiffChange): DiffFile[] {
  return files.filter(
    file =>
      (isProductCode(file.path, file.after ?? file.before) || LOCK_FILE.test(file.path) || PINNED.test(file.path)) &&
      isMeant(file),
  )
}

/** Versions that the program is built with. Other manifests are settings or code, whose changes are read. */
const PINNED = /(^|\/)(requirements[^/]*\.txt|constraints\.txt)$/

function isMeant(file: DiffFile): boolean {
  if (file.kind !== 'text' || file.before === undefined || file.after === undefined) return true
  return codeOf(file.path, file.before) !== codeOf(file.path, file.after)
}

/** The program code of a file, in a normal form. */
function codeOf(path: string, text: string): string {
  const own = languageOf(path) === 'rust' ? withoutTests(text) : text
  const tree = readTestCode(path, own)
  return tree ? codeText(tree.root) : own.replace(/\s+/g, ' ').trim()
}

/** In Rust, unit tests are at the end of the file that they test. */
function withoutTests(text: string): string {
  const begin = text.search(/^\s*#\[cfg\(test\)\]\s*(pub\s+)?mod\b/m)
  return begin < 0 ? text : text.slice(0, begin)
}
