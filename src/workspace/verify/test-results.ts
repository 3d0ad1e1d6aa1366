import { quoteForShell } from '../../base/words.ts'
import type { TestResult } from '../../domain/evidence.ts'

export const TEST_RUNNER_NAMES = ['node', 'jest', 'vitest', 'pytest', 'go', 'cargo', 'tap'] as const
export type TestRunner = (typeof TEST_RUNNER_NAMES)[number]

/** Reads what one runner prints, line by line. */
export interface TestParser {
  runner: TestRunner
  line(text: string): void
  /** Undefined where the runner did not say its last word: half a list is none. */
  results(): TestResult[] | undefined
}

/** Between a file, its groups and its tests. */
export const NAME_SEPARATOR = ' > '

/** More are counted by nobody, and would fill the database. */
const MAX_TESTS = 20_000
const LONGEST_NAME = 500

const WEIGHT: Record<TestResult['status'], number> = { skipped: 0, passed: 1, flaky: 2, failed: 3 }

/** Tests by their names. Where a name comes twice the worse of both counts: nothing that failed is hidden. */
export class TestList {
  readonly #found = new Map<string, TestResult['status']>()

  add(name: string, status: TestResult['status']): void {
    const short = name.slice(0, LONGEST_NAME)
    const before = this.#found.get(short)
    if (before === undefined && this.#found.size >= MAX_TESTS) return
    if (before === undefined || WEIGHT[status] > WEIGHT[before]) this.#found.set(short, status)
  }

  all(): TestResult[] {
    return [...this.#found].map(([name, status]) => ({ name, status }))
  }
}

/** How some tests are run without the others: the same command with more words, or with more in its environment. */
export interface Retry {
  command: string
  env: Record<string, string>
}

/** More than these failed for a reason of their own, and running them again only takes time. */
const MOST_RETRIED = 20

/** Tests that failed themselves, and not only because something below them did. */
export function retryableFailures(tests: readonly TestResult[]): string[] {
  const failed = tests.filter(({ status }) => status === 'failed').map(({ name }) => name)
  return failed.filter(name => !failed.some(other => other.startsWith(`${name}${NAME_SEPARATOR}`)))
}

/** What runs just these tests, to be tried in turn until one of them tells of all; none where that cannot be done. */
export function retryCommands(runner: TestRunner, command: string, failed: readonly string[]): Retry[] {
  if (failed.length === 0 || failed.length > MOST_RETRIED) return []
  return RETRY_COMMANDS[runner](command, failed)
}

const RETRY_COMMANDS: Record<TestRunner, (command: string, failed: readonly string[]) => Retry[]> = {
  // A part of a test that is no group is only met when the whole is: first the tests by themselves, then what they are in.
  node: (command, failed) => {
    const last = failed.map(name => name.split(NAME_SEPARATOR).at(-1) ?? name)
    const first = failed.map(name => name.split(NAME_SEPARATOR)[0] ?? name)
    return [last, first].map(names => ({ command, env: { NODE_OPTIONS: [...new Set(names)].map(pattern).join(' ') } }))
  },
  pytest: command => [
    { command, env: { PYTEST_ADDOPTS: `${PYTEST_REPORT_OPTIONS} --last-failed --last-failed-no-failures=none` } },
  ],
  jest: (command, failed) => {
    const files = [...new Set(failed.map(name => name.split(NAME_SEPARATOR)[0] ?? name))]
    const names = failed.flatMap(name => name.split(NAME_SEPARATOR).slice(1).join(' ') || [])
    const only = names.length > 0 ? [`--testNamePattern=^(${names.map(escaped).join('|')})$`] : []
    return withWords(command, ['--verbose', ...only, '--runTestsByPath', ...files])
  },
  vitest: (command, failed) => {
    const files = [...new Set(failed.map(name => name.split(NAME_SEPARATOR)[0] ?? name))]
    const names = failed.flatMap(name => name.split(NAME_SEPARATOR).slice(1).join(' ') || [])
    const only = names.length > 0 ? [`--testNamePattern=^(${names.map(escaped).join('|')})$`] : []
    return withWords(command, ['--reporter=verbose', ...only, ...files])
  },
  go: (command, failed) => {
    const tests = [...new Set(failed.flatMap(name => name.split(NAME_SEPARATOR)[1] ?? []))]
    return tests.length === 0 ? [] : withWords(command, ['-count=1', '-v', `-run=^(${tests.map(escaped).join('|')})$`])
  },
  cargo: (command, failed) => {
    if (/ -- /.test(command)) return []
    const names = failed.map(name => name.split(NAME_SEPARATOR).at(-1) ?? name)
    return withWords(command, ['--no-fail-fast', '--', '--exact', ...names])
  },
  tap: () => [],
}

/** What makes pytest tell of every test; harmless where pytest is not what runs. */
export const PYTEST_REPORT_OPTIONS = '-v -rfEp'

/** In `NODE_OPTIONS` words are parted by spaces; quotes keep them together, and a backslash stands for itself by another one. */
function pattern(name: string): string {
  const quoted = `^${escaped(name)}$`.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
  return `--test-name-pattern="${quoted}"`
}

/** Only where the last program of the command gets the words: a plain call, or a script of a package manager that hands them on. */
function withWords(command: string, words: readonly string[]): Retry[] {
  if (/[;&|<>`$(){}\n]/.test(command)) return []
  const isScript = /^(npm (run |run-script )?[\w:-]+|npm t)$/.test(command.trim())
  if (/^(make|just|task|mvn|gradle|\.\/gradlew)\b/.test(command.trim())) return []
  return [{ command: [command, ...(isScript ? ['--'] : []), ...words.map(quoteForShell)].join(' '), env: {} }]
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
