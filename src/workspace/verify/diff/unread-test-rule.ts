import { findErrors } from '../../../base/syntax/code-tree.ts'
import type { DiffFile, DiffLine } from './change.ts'
import { isCovered } from './code-piece.ts'
import { isTestFile } from './file-kind.ts'
import { grammarFor } from './read-tests.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/**
 * Tests that cannot be read as code are compared line by line, and in doubt against the change: there is no grammar for their language, it is not
 * installed, or it does not know what is written there. A line that only moved, or that says more than before, is no finding.
 */
export const unreadTestRule: DiffRule = ({ files }) => {
  const unread = files.flatMap(file => {
    const isTest = file.kind === 'text' && (isTestFile(file.path, file.before) || isTestFile(file.path, file.after))
    const why = isTest ? whyUnread(file) : undefined
    return why ? [{ ...why, file }] : []
  })
  const all = unread.flatMap(({ come }) => come.map(({ text }) => wordsIn(text)))
  return unread.flatMap(({ file, why, gone, come }) => [...skips(file, come), ...weaker(file, gone, all, why)])
}

interface Unread {
  why: string
  gone: DiffLine[]
  come: DiffLine[]
}

/** The lines of a file that no syntax tree stands for. */
function whyUnread(file: DiffFile): Unread | undefined {
  const { path, status, before, after } = file
  const [gone, come] = [file.removed.filter(isMeant), file.added.filter(isMeant)]
  const isWhole = (status === 'added' || before !== undefined) && (status === 'deleted' || after !== undefined)
  const [was, is] = [errorsIn(path, before), errorsIn(path, after)]
  if (!isWhole) return { why: 'it is too long to be read whole', gone, come }
  if (!was || !is) return { why: 'no grammar for its language is installed', gone, come }
  if (is.length > was.length && status !== 'added') return { why: 'it does not parse', gone, come }
  const inside = (lines: DiffLine[], errors: readonly [number, number][]) =>
    lines.filter(({ line }) => errors.some(([from, to]) => from <= line && line <= to))
  const [lost, fresh] = [inside(gone, was), inside(come, is)]
  return lost.length + fresh.length === 0 ? undefined : { why: 'a part of it does not parse', gone: lost, come: fresh }
}

function errorsIn(path: string, text = ''): [number, number][] | undefined {
  const given = grammarFor(path, text)
  return given && findErrors(...given)
}

function isMeant({ text }: DiffLine): boolean {
  return text.trim() !== '' && !/^\s*(\/\/|\*|\/\*|--|#(?!\[|expect))/.test(text)
}

/** Words that leave out a test in any language. */
const SKIPS =
  /(?<![\w.])[@:[#]?(x?skip\w*|x(it|test|describe|context|specify)|pending|ignored?|disabled?|todo|only|fit|fdescribe|focus)\b|\b(skip|enabled|only|focus):\s*\S|DISABLED_|_SKIP\b/i
/** Machines differ in these: a test that is skipped on one of them runs on another. */
const ELSEWHERE = /platform|windows|darwin|mac_?os|linux|version|skip_?(if|unless)|\bif\b|\bunless\b/i

function skips({ path, status, before = '' }: DiffFile, come: readonly DiffLine[]): DiffFinding[] {
  const known = new Set(before.split('\n').map(line => line.trim()))
  return come.flatMap(({ line, text: whole }) => {
    const text = whole.trim().slice(0, LONGEST)
    if (known.has(text) || !SKIPS.test(text)) return []
    const at = { file: path, line }
    const what = text.slice(0, 80)
    if (status === 'added') return [note('test.skipped', `A new test may not run: ${what}`, at)]
    if (ELSEWHERE.test(text)) return [note('test.skipped', `A test is left out on some machines now: ${what}`, at)]
    return [block('test.skipped', `A test that ran is skipped now: ${what}. Let it run.`, at)]
  })
}

/** Longer lines were not written by a person. */
const LONGEST = 1_000

/** A line is gone, and no new one has all its words and values. */
function weaker({ path }: DiffFile, gone: readonly DiffLine[], come: readonly string[][], why: string): DiffFinding[] {
  return gone.flatMap(({ text }) => {
    const words = wordsIn(text)
    if (words.length === 0 || come.some(other => isCovered(words, other))) return []
    const what = `a line of this test is gone, and ${why}`
    return [
      block(
        'test.unread',
        `${path}: ${what}: ${text.trim().slice(0, 80)}. Bring it back, or let a person look at it.`,
        { file: path },
      ),
    ]
  })
}

function wordsIn(text: string): string[] {
  return text.slice(0, LONGEST).match(/\w+|[=!<>]=+|-\w+/g) ?? []
}
