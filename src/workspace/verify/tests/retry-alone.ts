import { shellWord } from '../../../base/shell-word.ts'
import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { BELOW, type TestRunner } from './test-parser.ts'

/** How some tests are run without the others: the same command with more words, or with more in its environment. */
export interface Retry {
  command: string
  env: Record<string, string>
}

/** More than these failed for a reason of their own, and running them again only takes time. */
const MOST_RETRIED = 20

/** Tests that failed themselves, and not only because something below them did. */
export function failedAlone(tests: readonly TestResult[]): string[] {
  const failed = tests.filter(({ status }) => status === 'failed').map(({ name }) => name)
  return failed.filter(name => !failed.some(other => other.startsWith(`${name}${BELOW}`)))
}

/** What runs just these tests, to be tried in turn until one of them tells of all; none where that cannot be done. */
export function retriesOf(runner: TestRunner, command: string, failed: readonly string[]): Retry[] {
  if (failed.length === 0 || failed.length > MOST_RETRIED) return []
  return WAYS[runner](command, failed)
}

const WAYS: Record<TestRunner, (command: string, failed: readonly string[]) => Retry[]> = {
  // A part of a test that is no group is only met when the whole is: first the tests by themselves, then what they are in.
  node: (command, failed) => {
    const last = failed.map(name => name.split(BELOW).at(-1) ?? name)
    const first = failed.map(name => name.split(BELOW)[0] ?? name)
    return [last, first].map(names => ({ command, env: { NODE_OPTIONS: [...new Set(names)].map(pattern).join(' ') } }))
  },
  pytest: command => [
    { command, env: { PYTEST_ADDOPTS: `${PYTEST_TELLS} --last-failed --last-failed-no-failures=none` } },
  ],
  jest: (command, failed) => {
    const files = [...new Set(failed.map(name => name.split(BELOW)[0] ?? name))]
    const names = failed.flatMap(name => name.split(BELOW).slice(1).join(' ') || [])
    const only = names.length > 0 ? [`--testNamePattern=^(${names.map(escaped).join('|')})$`] : []
    return withWords(command, ['--verbose', ...only, '--runTestsByPath', ...files])
  },
  vitest: (command, failed) => {
    const files = [...new Set(failed.map(name => name.split(BELOW)[0] ?? name))]
    const names = failed.flatMap(name => name.split(BELOW).slice(1).join(' ') || [])
    const only = names.length > 0 ? [`--testNamePattern=^(${names.map(escaped).join('|')})$`] : []
    return withWords(command, ['--reporter=verbose', ...only, ...files])
  },
  go: (command, failed) => {
    const tests = [...new Set(failed.flatMap(name => name.split(BELOW)[1] ?? []))]
    return tests.length === 0 ? [] : withWords(command, ['-count=1', '-v', `-run=^(${tests.map(escaped).join('|')})$`])
  },
  cargo: (command, failed) => {
    if (/ -- /.test(command)) return []
    const names = failed.map(name => name.split(BELOW).at(-1) ?? name)
    return withWords(command, ['--no-fail-fast', '--', '--exact', ...names])
  },
  tap: () => [],
}

/** What makes pytest tell of every test; harmless where pytest is not what runs. */
export const PYTEST_TELLS = '-v -rfEp'

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
  return [{ command: [command, ...(isScript ? ['--'] : []), ...words.map(shellWord)].join(' '), env: {} }]
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
