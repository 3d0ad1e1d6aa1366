import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { BELOW, TestList, type TestParser } from './test-parser.ts'

const STATUS: Record<string, TestResult['status']> = {
  PASSED: 'passed',
  XPASS: 'passed',
  FAILED: 'failed',
  ERROR: 'failed',
  SKIPPED: 'skipped',
  XFAIL: 'skipped',
}

/** pytest tells every test with `-v`, and those that passed and failed in its summary with `-rfEp`. */
export function pytest(): TestParser {
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
        if (id.includes('::')) list.add(nameOf(id), STATUS[verdict] ?? 'failed')
        return
      }
      const verbose =
        /^(.+?::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b(?: \(.*\))?\s*(?:\[ *\d+%\])?$/.exec(text) ??
        reversed(/^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+?::.+?)\s*$/.exec(text))
      if (verbose) list.add(nameOf(verbose[1] ?? ''), STATUS[verbose[2] ?? ''] ?? 'failed')
    },
    results: () => (isOver ? list.all() : undefined),
  }
}

/** With several workers the verdict stands first. */
function reversed(found: RegExpExecArray | null): string[] | null {
  return found && [found[0], found[2] ?? '', found[1] ?? '']
}

/** `a.py::TestShop::test_open[1]`; what stands in brackets may hold anything. */
function nameOf(id: string): string {
  const bracket = id.indexOf('[')
  const [plain, rest] = bracket < 0 ? [id, ''] : [id.slice(0, bracket), id.slice(bracket)]
  return `${plain.split('::').join(BELOW)}${rest}`
}
