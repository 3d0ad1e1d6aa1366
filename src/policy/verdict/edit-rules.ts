import { isDeepStrictEqual } from 'node:util'
import { type OwnFileChange, type RecordChange, replaceOwnFile } from '../../base/accepted-file.ts'
import { AppError } from '../../base/errors.ts'
import { whileLocked } from '../../base/files.ts'
import { scanToml, type TomlScan } from '../../base/toml.ts'
import { formatToml } from '../../base/toml-edit.ts'
import type { PolicyRule } from './rules.ts'
import { parseRules, readRules, type WrittenRule } from './rules-file.ts'

interface Edit {
  file: string
  /** One lock per installation, so that two edits do not overwrite one another. */
  lockFile: string
  /** Records a change of the person's own rules. */
  record?: RecordChange | undefined
}

/** Appends a rule to a file and leaves everything else as the person wrote it. An invalid file is refused, not repaired. */
export function addRule({ file, lockFile, record }: Edit, rule: PolicyRule): Promise<WrittenRule> {
  return whileLocked(lockFile, async () => {
    const before = readRules(file)
    const rules = parseRules(file, before).map(entry => entry.rule)
    const change = { path: file, before, after: appendRule(before, rule) }
    const written = await replaceChecked(change, [...rules, rule], record)
    const added = written.at(-1)
    if (added === undefined) throw new AppError('rules_not_edited', { file })
    return added
  })
}

/** Removes the rule of that number from a file; comments on lines of their own stay. */
export function removeRule({ file, lockFile, record }: Edit, number: number): Promise<WrittenRule> {
  return whileLocked(lockFile, async () => {
    const before = readRules(file)
    const rules = parseRules(file, before)
    const removed = rules[number - 1]
    if (removed === undefined) throw new AppError('rule_unknown', { number, file })
    const others = rules.filter(entry => entry !== removed).map(entry => entry.rule)
    await replaceChecked({ path: file, before, after: cutRule(before, number - 1) ?? before }, others, record)
    return removed
  })
}

/** Writes the text only if it parses to exactly the expected rules. */
async function replaceChecked(
  change: OwnFileChange,
  expected: PolicyRule[],
  record: RecordChange | undefined,
): Promise<WrittenRule[]> {
  const { path: file, after: text } = change
  const written = readBack(file, text)
  const isExpected =
    written !== undefined &&
    isDeepStrictEqual(
      written.map(entry => entry.rule),
      expected,
    )
  if (!isExpected) throw new AppError('rules_not_edited', { file })
  await replaceOwnFile(change, record)
  return written
}

function readBack(file: string, text: string): WrittenRule[] | undefined {
  try {
    return parseRules(file, text)
  } catch {
    return undefined // the caller reports that the file cannot be edited
  }
}

function appendRule(text: string, { effect, tool, match }: PolicyRule): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const ended = text === '' || text.endsWith('\n') ? text : text + newline
  const lines = ['[[rules]]', `effect = ${formatToml(effect)}`, `tool = ${formatToml(tool)}`]
  if (match !== undefined) lines.push(`match = ${formatToml(match)}`)
  return ended + (text.trim() === '' ? '' : newline) + lines.join(newline) + newline
}

/** The text without the lines of one `[[rules]]` table; undefined if the rules are written in another way. */
function cutRule(text: string, index: number): string | undefined {
  const scan = scanToml(text)
  const spans = findRuleLines(text, scan, index)
  if (spans === undefined) return undefined
  let result = text
  for (const [start, end] of spans.toReversed()) {
    const after = result.slice(end)
    // Where the rule was, one blank line stays and not two.
    const isDoubled = /(^|\n\r?\n)$/.test(result.slice(0, start)) && /^\r?\n/.test(after)
    result = result.slice(0, start) + (isDoubled ? after.replace(/^\r?\n/, '') : after)
  }
  return result
}

function findRuleLines(text: string, { headers, entries }: TomlScan, index: number): [number, number][] | undefined {
  const tables = headers.filter(({ path }) => path.join('.') === 'rules')
  const header = tables[index]
  if (header === undefined) return undefined
  const next = headers[headers.indexOf(header) + 1]?.end ?? Number.POSITIVE_INFINITY
  const own = entries.filter(({ keyStart, inline }) => !inline && keyStart > header.end && keyStart < next)
  return [
    wholeLine(text, header.end - 1, header.end),
    ...own.map(entry => wholeLine(text, entry.keyStart, entry.valueEnd)),
  ]
}

function wholeLine(text: string, start: number, end: number): [number, number] {
  const newline = text.indexOf('\n', end)
  return [text.lastIndexOf('\n', start) + 1, newline === -1 ? text.length : newline + 1]
}
