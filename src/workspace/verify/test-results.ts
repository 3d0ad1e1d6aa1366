import { quoteForShell } from '../../base/words.ts'
import type { TestResult } from '../../domain/evidence.ts'

export const TEST_RUNNER_NAMES = ['node', 'jest', 'vitest', 'pytest', 'go', 'cargo', 'tap'] as const
export type TestRunner = (typeof TEST_RUNNER_NAMES)[number]

/** Reads the output of one runner, line by line. */
export interface TestParser {
  runner: TestRunner
  line(text: string): void
  /** Undefined if the output is incomplete: half a list is worth nothing. */
  results(): TestResult[] | undefined
}

/** Separates a file, its groups and its tests in a name. */
export const NAME_SEPARATOR = ' > '

/** More tests would only fill the database. */
const MAX_TESTS = 20_000
const LONGEST_NAME = 500

const WEIGHT: Record<TestResult['status'], number> = { skipped: 0, passed: 1, flaky: 2, failed: 3 }

/** Tests by their names. If a name occurs twice, the worse result counts, so that no failure is hidden. */
export class TestList {
  readonly #tests = new Map<string, TestResult['status']>()

  add(name: string, status: TestResult['status']): void {
    const short = name.slice(0, LONGEST_NAME)
    const before = this.#tests.get(short)
    if (before === undefined && this.#tests.size >= MAX_TESTS) return
    if (before === undefined || WEIGHT[status] > WEIGHT[before]) this.#tests.set(short, status)
  }

  all(): TestResult[] {
    return [...this.#tests].map(([name, status]) => ({ name, status }))
  }
}

/** How to run some tests without the others: the same command with more arguments, or with more environment variables. */
export interface Retry {
  command: string
  env: Record<string, string>
}

/** If more tests fail, the cause is not flakiness, and running them again only takes time. */
const MOST_RETRIED = 20

/** Tests that failed themselves, and not only because a test inside them did. */
export function retryableFailures(tests: readonly TestResult[]): string[] {
  const failed = tests.filter(({ status }) => status === 'failed').map(({ name }) => name)
  return failed.filter(name => !failed.some(other => other.startsWith(`${name}${NAME_SEPARATOR}`)))
}

/** Commands that run just these tests, to be tried in turn until one reports all of them; none where that is not possible. */
export function retryCommands(runner: TestRunner, command: string, failed: readonly string[]): Retry[] {
  if (failed.length === 0 || failed.length > MOST_RETRIED) return []
  return RETRY_COMMANDS[runner](command, failed)
}

const RETRY_COMMANDS: Record<TestRunner, (command: string, failed: readonly string[]) => Retry[]> = {
  // A subtest of a test that is not a group only runs with its parent: first the tests by themselves, then their parents.
  node: (command, failed) => {
    const last = failed.map(name => name.split(NAME_SEPARATOR).at(-1) ?? name)
    const first = failed.map(name => name.split(NAME_SEPARATOR)[0] ?? name)
    return [last, first].map(names => ({
      command,
      env: { NODE_OPTIONS: [...new Set(names)].map(namePatternOption).join(' ') },
    }))
  },
  pytest: command => [
    { command, env: { PYTEST_ADDOPTS: `${PYTEST_REPORT_OPTIONS} --last-failed --last-failed-no-failures=none` } },
  ],
  jest: (command, failed) => {
    const files = [...new Set(failed.map(name => name.split(NAME_SEPARATOR)[0] ?? name))]
    const names = failed.flatMap(name => name.split(NAME_SEPARATOR).slice(1).join(' ') || [])
    const only = names.length > 0 ? [`--testNamePattern=^(${names.map(escapePattern).join('|')})$`] : []
    return withArguments(command, ['--verbose', ...only, '--runTestsByPath', ...files])
  },
  vitest: (command, failed) => {
    const files = [...new Set(failed.map(name => name.split(NAME_SEPARATOR)[0] ?? name))]
    const names = failed.flatMap(name => name.split(NAME_SEPARATOR).slice(1).join(' ') || [])
    const only = names.length > 0 ? [`--testNamePattern=^(${names.map(escapePattern).join('|')})$`] : []
    return withArguments(command, ['--reporter=verbose', ...only, ...files])
  },
  go: (command, failed) => {
    const tests = [...new Set(failed.flatMap(name => name.split(NAME_SEPARATOR)[1] ?? []))]
    return tests.length === 0
      ? []
      : withArguments(command, ['-count=1', '-v', `-run=^(${tests.map(escapePattern).join('|')})$`])
  },
  cargo: (command, failed) => {
    if (/ -- /.test(command)) return []
    const names = failed.map(name => name.split(NAME_SEPARATOR).at(-1) ?? name)
    return withArguments(command, ['--no-fail-fast', '--', '--exact', ...names])
  },
  tap: () => [],
}

/** Makes pytest list every test; harmless where another program runs. */
export const PYTEST_REPORT_OPTIONS = '-v -rfEp'

/** In `NODE_OPTIONS` options are separated by spaces; quotes keep an option together, and a backslash escapes a backslash. */
function namePatternOption(name: string): string {
  const quoted = `^${escapePattern(name)}$`.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
  return `--test-name-pattern="${quoted}"`
}

/** Appends arguments where they reach the last program of the command: in a plain call, or a package script that passes them on. */
function withArguments(command: string, words: readonly string[]): Retry[] {
  if (/[;&|<>`$(){}\n]/.test(command)) return []
  const isScript = /^(npm (run |run-script )?[\w:-]+|npm t)$/.test(command.trim())
  if (/^(make|just|task|mvn|gradle|\.\/gradlew)\b/.test(command.trim())) return []
  return [{ command: [command, ...(isScript ? ['--'] : []), ...words.map(quoteForShell)].join(' '), env: {} }]
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
