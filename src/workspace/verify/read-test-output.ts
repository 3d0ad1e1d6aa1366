import type { TestResult } from '../../domain/evidence.ts'
import { NAME_SEPARATOR, TestList, type TestParser, type TestRunner } from './test-results.ts'

/** The single tests that runners listed. */
export interface ReadTests {
  runners: TestRunner[]
  tests: TestResult[]
}

export interface TestReader {
  line(text: string): void
  /** Undefined if no runner listed single tests: then only the whole command counts. */
  end(): ReadTests | undefined
}

/** Reads the results of single tests from the output of a command. The runner is recognised by its output. */
export function openTestReader(): TestReader {
  const parsers = [nodeSpec(), tap(), jest(), vitest(), pytest(), goTest(), cargoTest()]
  return {
    line: text => {
      for (const parser of parsers) parser.line(text)
    },
    end: () => {
      const read = parsers.flatMap(parser => {
        const tests = parser.results()
        return tests === undefined || tests.length === 0 ? [] : [{ runner: parser.runner, tests }]
      })
      if (read.length === 0) return undefined
      return { runners: [...new Set(read.map(({ runner }) => runner))], tests: read.flatMap(({ tests }) => tests) }
    },
  }
}

const NODE_STATUS: Record<string, TestResult['status']> = {
  '✔': 'passed',
  '✖': 'failed',
  '﹣': 'skipped',
  '⚠': 'skipped',
}

/** The spec reporter of `node --test`: groups open with an arrow, their tests are indented, failures are repeated at the end. */
function nodeSpec(): TestParser {
  const list = new TestList()
  const groups: string[] = []
  let isOver = false
  return {
    runner: 'node',
    line(text) {
      if (/^ℹ tests \d+$/.test(text)) isOver = true
      if (isOver) return
      const [, indent = '', mark = '', rest = ''] = /^((?: {2})*)([✔✖﹣⚠▶]) (.+)$/.exec(text) ?? []
      if (mark === '') return
      const depth = indent.length / 2
      groups.length = Math.min(groups.length, depth)
      if (mark === '▶') {
        groups[depth] = rest.replace(NODE_DURATION, '')
        return
      }
      if (!NODE_DURATION.test(rest)) return
      const name = [...groups.slice(0, depth), rest.replace(NODE_DURATION, '')].join(NAME_SEPARATOR)
      list.add(name, / # (SKIP|TODO)\b[^)]*$/.test(rest) ? 'skipped' : (NODE_STATUS[mark] ?? 'failed'))
    },
    results: () => (isOver ? list.all() : undefined),
  }
}

const NODE_DURATION = / \(\d+(\.\d+)?ms\)( # .*)?$/

/** The Test Anything Protocol, with subtests indented by four as `node --test` and others print them. */
function tap(): TestParser {
  const list = new TestList()
  const groups: string[] = []
  let isTap = false
  let hasPlan = false
  let isNode = false
  return {
    get runner() {
      return isNode ? 'node' : 'tap'
    },
    line(text) {
      if (/^TAP version \d+$/.test(text)) isTap = true
      if (/^1\.\.\d+/.test(text)) hasPlan = true
      if (/^# duration_ms \d/.test(text)) isNode = true
      const [, opens, group = ''] = /^((?: {4})*)# Subtest: (.+)$/.exec(text) ?? []
      if (opens !== undefined) {
        groups.length = Math.min(groups.length, opens.length / 4)
        groups[opens.length / 4] = tapName(group)
        return
      }
      const [, indent = '', not, description] = /^((?: {4})*)(not )?ok \d+(?: - | )(.*)$/.exec(text) ?? []
      if (description === undefined) return
      const [, name = '', note] = /^(.*?)(?: # (SKIP|TODO)\b.*)?$/i.exec(description) ?? []
      const depth = indent.length / 4
      list.add([...groups.slice(0, depth), tapName(name)].join(NAME_SEPARATOR), tapStatus(not, note))
    },
    results: () => (isTap && hasPlan ? list.all() : undefined),
  }
}

function tapStatus(not: string | undefined, note: string | undefined): TestResult['status'] {
  if (note !== undefined) return 'skipped'
  return not === undefined ? 'passed' : 'failed'
}

function tapName(name: string): string {
  return name.replaceAll(/\\([\\#])/g, '$1')
}

const JEST_STATUS: Record<string, TestResult['status']> = {
  '✓': 'passed',
  '✕': 'failed',
  '○': 'skipped',
  '✎': 'skipped',
}

/** Jest lists files, and the tests that failed; with `--verbose` every test, indented below its groups. */
function jest(): TestParser {
  const list = new TestList()
  let file: string | undefined
  let groups: string[] = []
  let isListing = false
  let isOver = false
  return {
    runner: 'jest',
    line(text) {
      if (/^Test Suites: .*\btotal$/.test(text)) isOver = true
      // The failures of all files are repeated in a summary.
      if (isOver || /^Summary of all failing tests$/.test(text)) {
        file = undefined
        return
      }
      const [, verdict, path] = /^(PASS|FAIL) (?:\S+ )??(\S.*?)(?: \([\d.]+ m?s\))?$/.exec(text) ?? []
      if (path !== undefined) {
        file = path
        groups = []
        isListing = true
        list.add(path, verdict === 'PASS' ? 'passed' : 'failed')
        return
      }
      if (file === undefined) return
      const [, failed] = /^ {2}● (.+)$/.exec(text) ?? []
      if (failed !== undefined) {
        isListing = false
        if (failed.includes(' › ') || !/^(Test suite failed to run|Console)$/.test(failed))
          list.add([file, ...failed.split(' › ')].join(NAME_SEPARATOR), 'failed')
        return
      }
      if (isListing) jestLine(text, { file, groups, list })
    },
    results: () => (isOver ? list.all() : undefined),
  }
}

interface JestListing {
  file: string
  groups: string[]
  list: TestList
}

function jestLine(text: string, { file, groups, list }: JestListing): void {
  const [, indent = '', mark, name = ''] = /^((?: {2})+)(?:([✓✕○✎]) )?(\S.*)$/.exec(text) ?? []
  if (indent === '') return
  const depth = indent.length / 2 - 1
  groups.length = Math.min(groups.length, depth)
  if (mark === undefined) {
    groups[depth] = name
    return
  }
  const bare = name.replace(/^(skipped|todo) /, '').replace(/ \([\d.]+ m?s\)$/, '')
  list.add([file, ...groups, bare].join(NAME_SEPARATOR), JEST_STATUS[mark] ?? 'failed')
}

const VITEST_STATUS: Record<string, TestResult['status']> = {
  '✓': 'passed',
  '×': 'failed',
  '↓': 'skipped',
  '❯': 'failed',
}

/** Vitest lists files, and every test of a file in which one failed; its verbose reporter prints every test on its own line. */
function vitest(): TestParser {
  const list = new TestList()
  let file: string | undefined
  let isVitest = false
  let isOver = false
  return {
    runner: 'vitest',
    line(text) {
      if (/^\s*(RUN|DEV) {2}v\d/.test(text)) isVitest = true
      if (/^\s+Test Files {2}/.test(text)) isOver = true
      // From here on failures are repeated, with what they expected.
      if (isOver || /^⎯+ .*(Failed|Unhandled)/.test(text)) {
        file = undefined
        isOver ||= /^\s+Test Files {2}/.test(text)
        return
      }
      const [, indent = '', mark = '', rest = ''] = /^( +)([✓×↓❯]) (.+)$/.exec(text) ?? []
      if (mark === '') return
      const [, path] = /^(.+?) \(\d+ tests?\b[^)]*\)(?: \d+m?s)?$/.exec(rest) ?? []
      const status = VITEST_STATUS[mark] ?? 'failed'
      if (path !== undefined && indent.length === 1) {
        file = withoutProject(path)
        list.add(file, status)
        return
      }
      const name = rest.replace(/ \d+m?s$/, '')
      if (indent.length === 1 && name.includes(NAME_SEPARATOR)) list.add(withoutProject(name), status)
      else if (file !== undefined && indent.length >= 3 && mark !== '❯')
        list.add(`${file}${NAME_SEPARATOR}${name}`, status)
    },
    results: () => (isVitest && isOver ? list.all() : undefined),
  }
}

/** `|unit| src/a.test.ts`: the project of a workspace comes before the file. */
function withoutProject(name: string): string {
  return name.replace(/^\|[^|]*\| /, '')
}

const PYTEST_STATUS: Record<string, TestResult['status']> = {
  PASSED: 'passed',
  XPASS: 'passed',
  FAILED: 'failed',
  ERROR: 'failed',
  SKIPPED: 'skipped',
  XFAIL: 'skipped',
}

/** pytest lists every test with `-v`, and the passed and failed ones in its summary with `-rfEp`. */
function pytest(): TestParser {
  const list = new TestList()
  let isSummary = false
  let isOver = false
  return {
    runner: 'pytest',
    line(text) {
      if (/^=+ short test summary info =+$/.test(text)) isSummary = true
      if (/^(=+ )?(\d+ \w+(, )?)+.* in [\d.]+s\b/.test(text)) isOver = true
      if (isSummary) {
        const [, verdict = '', id = ''] = /^(PASSED|FAILED|ERROR|XFAIL|XPASS) (.+?)(?: - .*)?$/.exec(text) ?? []
        if (id.includes('::')) list.add(pytestName(id), PYTEST_STATUS[verdict] ?? 'failed')
        return
      }
      const verbose =
        /^(.+?::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b(?: \(.*\))?\s*(?:\[ *\d+%\])?$/.exec(text) ??
        reversedPytestLine(/^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+?::.+?)\s*$/.exec(text))
      if (verbose) list.add(pytestName(verbose[1] ?? ''), PYTEST_STATUS[verbose[2] ?? ''] ?? 'failed')
    },
    results: () => (isOver ? list.all() : undefined),
  }
}

/** With several workers the verdict comes first. */
function reversedPytestLine(match: RegExpExecArray | null): string[] | null {
  return match && [match[0], match[2] ?? '', match[1] ?? '']
}

/** `a.py::TestShop::test_open[1]`; the text in brackets may contain anything. */
function pytestName(id: string): string {
  const bracket = id.indexOf('[')
  const [plain, rest] = bracket < 0 ? [id, ''] : [id.slice(0, bracket), id.slice(bracket)]
  return `${plain.split('::').join(NAME_SEPARATOR)}${rest}`
}

const GO_STATUS: Record<string, TestResult['status']> = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' }

/** `go test` lists packages, and before each its failed tests; with `-v` every test. */
function goTest(): TestParser {
  const list = new TestList()
  let pending: [name: string, status: TestResult['status']][] = []
  let packages = 0
  return {
    runner: 'go',
    line(text) {
      const [, verdict = '', test = ''] = /^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/.exec(text) ?? []
      if (verdict !== '') {
        pending.push([test.split('/').join(NAME_SEPARATOR), GO_STATUS[verdict] ?? 'failed'])
        return
      }
      const [, end, name] = /^(ok {2}|FAIL)\t(\S+)(?:\t| \[)/.exec(text) ?? []
      if (name === undefined) return
      packages += 1
      list.add(name, end === 'FAIL' ? 'failed' : 'passed')
      for (const [testName, status] of pending) list.add(`${name}${NAME_SEPARATOR}${testName}`, status)
      pending = []
    },
    results: () => (packages > 0 && pending.length === 0 ? list.all() : undefined),
  }
}

/** `cargo test` lists every test, below the program that contains it. */
function cargoTest(): TestParser {
  const list = new TestList()
  let program = ''
  let open = 0
  let results = 0
  return {
    runner: 'cargo',
    line(text) {
      const [, source, doc] = /^ +(?:Running (.+?) \(.*\)|Doc-tests (\S+))$/.exec(text) ?? []
      if (source !== undefined || doc !== undefined) program = source?.replace(/^unittests /, '') ?? `doc-tests ${doc}`
      if (/^running \d+ tests?$/.test(text)) open += 1
      if (/^test result: /.test(text)) results += 1
      const [, name, verdict] = /^test (.+) \.\.\. (ok|FAILED|ignored)(?:, .*)?$/.exec(text) ?? []
      if (name === undefined) return
      const path = name.replace(/ - should panic$/, '').replace(/ \(line \d+\)$/, '')
      const status = verdict === 'ok' ? 'passed' : verdict === 'FAILED' ? 'failed' : 'skipped'
      list.add([...(program === '' ? [] : [program]), path].join(NAME_SEPARATOR), status)
    },
    results: () => (results > 0 && results === open ? list.all() : undefined),
  }
}
