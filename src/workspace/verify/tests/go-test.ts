import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { BELOW, TestList, type TestParser } from './test-parser.ts'

const STATUS: Record<string, TestResult['status']> = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' }

/** `go test` tells packages, and before each its tests that failed; with `-v` every test. */
export function goTest(): TestParser {
  const list = new TestList()
  let waiting: [name: string, status: TestResult['status']][] = []
  let packages = 0
  return {
    runner: 'go',
    line(text) {
      const [, verdict = '', test = ''] = /^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/.exec(text) ?? []
      if (verdict !== '') {
        waiting.push([test.split('/').join(BELOW), STATUS[verdict] ?? 'failed'])
        return
      }
      const [, end, name] = /^(ok {2}|FAIL)\t(\S+)(?:\t| \[)/.exec(text) ?? []
      if (name === undefined) return
      packages += 1
      list.add(name, end === 'FAIL' ? 'failed' : 'passed')
      for (const [each, status] of waiting) list.add(`${name}${BELOW}${each}`, status)
      waiting = []
    },
    results: () => (packages > 0 && waiting.length === 0 ? list.all() : undefined),
  }
}
