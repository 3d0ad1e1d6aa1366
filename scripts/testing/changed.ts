import { execFileSync, spawnSync } from 'node:child_process'
import { posix } from 'node:path'
import { readImportGraph } from './import-graph.ts'

/** Why a test file runs, nearest to the change first. */
const REASONS = {
  beside: 'stand beside it',
  imports: 'import or read it',
  starts: 'start the program',
  house: 'look at the whole checkout',
} as const
type Reason = keyof typeof REASONS

export interface Touched {
  /** Test files, those nearest to the change first. */
  files: string[]
  /** One line: how many files changed, how many tests they can affect, and why. */
  told: string
}

/** A change of one of these can affect every test. */
const EVERYTHING = /^(package(-lock)?\.json|tsconfig.*\.json|scripts\/test\.ts|scripts\/testing\/(?!agents\/).*)$/
/** Entry points of whole programs. A test that reaches one runs it completely, whatever part the test is about. */
const ENTRIES = new Set(['bin/pcc.js', 'test/daemon/run-daemon.ts'])
const FIXTURE = /^test\/.*(?<!\.[jt]sx?)$/
const HOUSE = /^test\/house\//
/** The test that packs and installs the program with its docs. */
const PACKAGE = 'test/house/package.test.ts'
const PACKED = /^(bin|docs|examples|src)\/|^(README|CHANGELOG)\.md$/

/** The test files that changes since a commit can affect; uncommitted and untracked files count too. */
export function touchedTests(root: string, tests: string[], ref = 'HEAD'): Touched {
  const changed = changedSince(root, ref)
  if (changed.length === 0) return { files: [], told: `nothing changed since ${ref}: no test to run` }
  const begun = `${plural(changed.length, 'file')} changed since ${ref}`
  const basic = changed.find(path => EVERYTHING.test(path))
  if (basic !== undefined)
    return { files: tests, told: `${begun}, with ${basic}, which every test depends on: all run` }
  const reasons = reasonsFor(root, changed, tests)
  const files = tests.filter(test => reasons(test) !== undefined)
  const order = Object.keys(REASONS)
  const rank = (test: string) => order.indexOf(reasons(test) ?? '')
  const counts = Object.entries(REASONS).flatMap(([reason, words]) => {
    const count = files.filter(test => reasons(test) === reason).length
    return count > 0 ? [`${count} ${words}`] : []
  })
  const told = `${begun}, which can touch ${files.length} of ${plural(tests.length, 'test file')}: ${counts.join(', ')}`
  return { files: files.toSorted((a, b) => rank(a) - rank(b)), told }
}

/** Whether a word names a commit of the checkout. */
export function namesCommit(root: string, word: string): boolean {
  return spawnSync('git', ['rev-parse', '--verify', '--quiet', `${word}^{commit}`], { cwd: root }).status === 0
}

function reasonsFor(root: string, changed: string[], tests: string[]): (test: string) => Reason | undefined {
  const graph = readImportGraph(root)
  const importing = graph.leadingTo(changed, path => ENTRIES.has(path))
  const starting = graph.leadingTo([...ENTRIES].filter(path => importing.has(path)))
  // A file that nobody names can only be read by a test that lists its folder.
  const unnamed = changed.filter(path => FIXTURE.test(path) && graph.leadingTo([path]).size === 1)
  const listed = unnamed.map(path => nearestWithTests(path, tests))
  const mirrors = changed.map(path => folderOf(path.replace(/^src\//, 'test/')))
  const isIn = (test: string, folders: string[]) => folders.some(folder => test.startsWith(folder))
  return test => {
    if (HOUSE.test(test) && test !== PACKAGE) return 'house'
    const isStarting = starting.has(test) || (test === PACKAGE && changed.some(path => PACKED.test(path)))
    if (!importing.has(test) && !isStarting && !isIn(test, listed)) return undefined
    if (changed.includes(test) || isIn(test, mirrors)) return 'beside'
    return importing.has(test) ? 'imports' : 'starts'
  }
}

function folderOf(path: string): string {
  return `${posix.dirname(path)}/`
}

function nearestWithTests(path: string, tests: string[]): string {
  const folder = folderOf(path)
  if (tests.some(test => test.startsWith(folder))) return folder
  return folder === 'test/' ? folder : nearestWithTests(posix.dirname(path), tests)
}

function changedSince(root: string, ref: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' })
      .split('\0')
      .filter(path => path !== '')
  const differing = git('diff', '--name-only', '--no-renames', '-z', '--relative', ref)
  return [...new Set([...differing, ...git('ls-files', '--others', '--exclude-standard', '-z')])].sort()
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
