import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readTree } from '../../test/house/source-tree.ts'
import { selectTests } from '../testing/select.ts'
import { hashOf, type Mutant } from './sample.ts'

export interface TestFile {
  path: string
  /** The hash of its text, its helpers and its data; a changed test may catch what the old one did not. */
  hash: string
  /** The distance of each imported file: 1 if direct, more if indirect. */
  distances: Map<string, number>
  /** Whether it starts `pcc` or a daemon as a process. */
  startsProgram: boolean
  /** Its text and that of its helpers in the same folder. */
  text: string
}

/** The maximum distance for a mutant. More distant tests would cost hours and rarely catch more. */
const UNIT_FILES = 40
const PROGRAM_FILES = 4
/** Tests with many rounds, which run after nearer and shorter ones. */
const LONG = /property|random|any-night|hostile|crash|kill|many-parked|crossings|dependencies/
const STARTS_PROGRAM = 'test/support/program.ts'
/** Tests about the repository or other vendors' programs, or that take minutes. */
const OTHERS = /^test\/(house|scripts|chaos|simulator|agents)\//
const WHOLE_WAY = 'test/e2e/whole-way.test.ts'
const PROGRAM_TESTS = /^test\/(daemon|e2e|cli)\//

/** All test files with their imports. */
export function readTests(root: string): TestFile[] {
  const files = new Map(readTree(root, ['src', 'test', 'scripts', 'bench']).map(file => [file.path, file]))
  return selectTests(root, []).files.flatMap(path => {
    const distances = new Map([[path, 0]])
    for (const [near, distance] of distances)
      for (const { target } of files.get(near)?.imports ?? [])
        if (target && files.has(target) && !distances.has(target)) distances.set(target, distance + 1)
    if (OTHERS.test(path)) return []
    const own = [...distances.keys()].filter(one => !one.startsWith('src/')).sort()
    const hash = hashOf(...own.map(one => files.get(one)?.text ?? ''), ...dataBeside(root, path))
    const beside = own.filter(one => dirname(one) === dirname(path))
    const text = beside.map(one => files.get(one)?.text ?? '').join('\n')
    return [{ path, hash, distances, startsProgram: distances.has(STARTS_PROGRAM), text }]
  })
}

/** The data files that a test reads from its own folder. */
function dataBeside(root: string, test: string): string[] {
  const found = globSync(`${dirname(test)}/**/*.{txt,json,jsonl,md}`, { cwd: root }).sort()
  return found.map(path => readFileSync(join(root, path), 'utf8'))
}

/** The tests that import a file: first those that import it directly, have a similar name or are in the same folder. */
export function unitTestsOf(file: string, tests: TestFile[]): TestFile[] {
  const rank = ({ path, distances }: TestFile) => {
    const distance = distances.get(file) ?? 99
    const near = 2 * distance - (distance === 1 ? 10 : 0) - 8 * alike(file, path) - 5 * shared(file, path)
    return near + (LONG.test(path) ? 30 : 0)
  }
  const importing = tests.filter(test => !test.startsProgram && test.distances.has(file))
  return nearest(importing, rank, UNIT_FILES)
}

/** How much of the source around a mutant is searched for words that tests share with it. */
const AROUND_CHARS = 1500

/**
 * The tests of the whole program that name what was changed: by the words of its file's path, and by routes, kinds, states and commands
 * near it. A word that few tests know counts more than one that many know.
 */
export function programTestsOf({ file, text, start }: Mutant, tests: TestFile[]): TestFile[] {
  const near = text.slice(Math.max(0, start - AROUND_CHARS), start + AROUND_CHARS)
  const all = tests.filter(test => test.startsProgram && PROGRAM_TESTS.test(test.path))
  const words = wordsSpelt(near).map(word => ({ word, users: all.filter(({ text }) => text.includes(word)) }))
  const common = (test: TestFile) =>
    words.reduce((sum, { users }) => sum + (users.includes(test) ? 1 / users.length : 0), 0)
  const rank = (test: TestFile) => -alike(file, test.path) - shared(file, test.path) / 10 - 2 * common(test)
  const named = all.filter(test => rank(test) < 0)
  if (named.length === 0) return all.filter(({ path }) => path === WHOLE_WAY)
  return nearest(named, rank, PROGRAM_FILES)
}

/** Routes, kinds, states and flags in the strings of a source file: `/sessions`, `task.deleted`, `--cascade`. */
function wordsSpelt(source: string): string[] {
  const strings = source.replace(/^import .*$/gm, '').matchAll(/'([^'\n]{4,60})'|`([^`\n]{4,60})`/g)
  const words = [...strings].flatMap(([, plain, template]) => (plain ?? template ?? '').split(/\$\{[^}]*\}|[:\s]+/))
  return [...new Set(words.filter(word => /^[-/\w.]{4,}$/.test(word)))]
}

function nearest(tests: TestFile[], rank: (test: TestFile) => number, count: number): TestFile[] {
  return tests.sort((a, b) => rank(a) - rank(b)).slice(0, count)
}

/** How many words of a file's path occur in a test's path, also as a prefix: steer and steering. */
function alike(file: string, test: string): number {
  const words = [...wordsOf(test)]
  const isThere = (word: string) => words.some(one => one.startsWith(word) || (one.length > 3 && word.startsWith(one)))
  return [...wordsOf(file)].filter(isThere).length
}

/** How many folders two paths have in common below src/ and test/. */
function shared(file: string, test: string): number {
  const [a, b] = [file, test].map(path => dirname(path).split('/').slice(1))
  const at = a?.findIndex((folder, place) => folder !== b?.[place]) ?? 0
  return at === -1 ? (a?.length ?? 0) : at
}

function wordsOf(path: string): Set<string> {
  const words = path
    .replace(/(\.test)?\.ts$/, '')
    .split(/[/.-]/)
    .slice(1)
  return new Set(
    words
      .filter(word => word.length > 2 && !/^(daemon|supervisor|store|cli|e2e|open|the|and)$/.test(word))
      .map(word => word.replace(/s$/, '')),
  )
}
