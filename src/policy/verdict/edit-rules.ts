import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../base/errors.ts'
import { replaceFile, withFileLock } from '../../base/files.ts'
import { scanToml, type TomlScan } from '../../base/toml.ts'
import { formatToml } from '../../base/toml-edit.ts'
import type { PolicyRule } from './rules.ts'
import { parseRules, readRules, type WrittenRule } from './rules-file.ts'

interface Edit {
  file: string
  /** Of one installation, so that two edits do not overwrite one another. */
  lockFile: string
}

/** Puts a rule at the end of a file, everything else as the person wrote it. A wrong file is refused, not repaired. */
export function addRule({ file, lockFile }: Edit, rule: PolicyRule): WrittenRule {
  return withFileLock(lockFile, () => {
    const before = readRules(file)
    const rules = parseRules(file, before).map(each => each.rule)
    const written = replaceChecked(file, appended(before, rule), [...rules, rule])
    const added = written.at(-1)
    if (added === undefined) throw new AppError('rules_not_edited', { file })
    return added
  })
}

/** Takes the rule of that number out of a file; comments on lines of their own stay. */
export function removeRule({ file, lockFile }: Edit, number: number): WrittenRule {
  return withFileLock(lockFile, () => {
    const before = readRules(file)
    const rules = parseRules(file, before)
    const gone = rules[number - 1]
    if (gone === undefined) throw new AppError('rule_unknown', { number, file })
    const others = rules.filter(each => each !== gone).map(each => each.rule)
    replaceChecked(file, without(before, number - 1) ?? before, others)
    return gone
  })
}

/** Writes the text only when it means exactly the expected rules. */
function replaceChecked(file: string, text: string, expected: PolicyRule[]): WrittenRule[] {
  const written = readBack(file, text)
  const same =
    written !== undefined &&
    isDeepStrictEqual(
      written.map(each => each.rule),
      expected,
    )
  if (!same) throw new AppError('rules_not_edited', { file })
  replaceFile(file, text)
  return written
}

function readBack(file: string, text: string): WrittenRule[] | undefined {
  try {
    return parseRules(file, text)
  } catch {
    return undefined // the caller says that it cannot be edited
  }
}

function appended(text: string, { effect, tool, match }: PolicyRule): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const ended = text === '' || text.endsWith('\n') ? text : text + newline
  const lines = ['[[rules]]', `effect = ${formatToml(effect)}`, `tool = ${formatToml(tool)}`]
  if (match !== undefined) lines.push(`match = ${formatToml(match)}`)
  return ended + (text.trim() === '' ? '' : newline) + lines.join(newline) + newline
}

/** The text without the lines of one `[[rules]]` table; undefined when the rules are written in another way. */
function without(text: string, index: number): string | undefined {
  const scan = scanToml(text)
  const spans = linesOf(text, scan, index)
  if (spans === undefined) return undefined
  let left = text
  for (const [start, end] of spans.toReversed()) {
    const after = left.slice(end)
    // Two blank lines where the rule stood would be one too many.
    const doubled = /(^|\n\r?\n)$/.test(left.slice(0, start)) && /^\r?\n/.test(after)
    left = left.slice(0, start) + (doubled ? after.replace(/^\r?\n/, '') : after)
  }
  return left
}

function linesOf(text: string, { headers, entries }: TomlScan, index: number): [number, number][] | undefined {
  const tables = headers.filter(({ path }) => path.join('.') === 'rules')
  const header = tables[index]
  if (header === undefined) return undefined
  const next = headers[headers.indexOf(header) + 1]?.end ?? Number.POSITIVE_INFINITY
  const own = entries.filter(({ keyStart, inline }) => !inline && keyStart > header.end && keyStart < next)
  return [
    wholeLine(text, header.end - 1, header.end),
    ...own.map(each => wholeLine(text, each.keyStart, each.valueEnd)),
  ]
}

function wholeLine(text: string, start: number, end: number): [number, number] {
  const newline = text.indexOf('\n', end)
  return [text.lastIndexOf('\n', start) + 1, newline === -1 ? text.length : newline + 1]
}
