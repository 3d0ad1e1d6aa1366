import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readTree } from '../../test/house/source-tree.ts'
import { selectTests } from '../testing/select.ts'
import { hashOf } from './sample.ts'

export interface TestFile {
  path: string
  /** The hash of its text, its helpers and its data; a changed test may catch what the old one did not. */
  hash: string
  /** The distance of each imported file: 1 if direct, more if indirect. */
  distances: Map<string, number>
  /** Whether it starts `pcc` or a daemon as a process. */
  startsProgram: boolean
}

/** The maximum distance for a mutant. More distant tests would cost hours and rarely catch more. */
const UNIT_FILES = 40
const PROGRAM_FILES = 3
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
    return [{ path, hash, distances, startsProgram: distances.has(STARTS_PROGRAM) }]
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

/** The tests of the whole program whose path shares the most words with the file's path; if there are none, all of them. */
export function programTestsOf(file: string, tests: TestFile[]): TestFile[] {
  const rank = ({ path }: TestFile) => -alike(file, path) - shared(file, path) / 10
  const all = tests.filter(test => test.startsProgram && PROGRAM_TESTS.test(test.path))
  const named = all.filter(({ path }) => alike(file, path) + shared(file, path) > 0)
  if (named.length === 0) return all.filter(({ path }) => path === WHOLE_WAY)
  return nearest(named, rank, PROGRAM_FILES)
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
