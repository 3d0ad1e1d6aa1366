import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { BELOW, TestList, type TestParser } from './test-parser.ts'

const STATUS: Record<string, TestResult['status']> = { '✓': 'passed', '✕': 'failed', '○': 'skipped', '✎': 'skipped' }

/** Jest tells files, and the tests that failed; with `--verbose` every test, indented below its groups. */
export function jest(): TestParser {
  const list = new TestList()
  let file: string | undefined
  let groups: string[] = []
  let isListing = false
  let isOver = false
  return {
    runner: 'jest',
    line(text) {
      if (/^Test Suites: .*\btotal$/.test(text)) isOver = true
      // The failures of all files come once more in a summary.
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
          list.add([file, ...failed.split(' › ')].join(BELOW), 'failed')
        return
      }
      if (isListing) listed(text, { file, groups, list })
    },
    results: () => (isOver ? list.all() : undefined),
  }
}

interface Listing {
  file: string
  groups: string[]
  list: TestList
}

function listed(text: string, { file, groups, list }: Listing): void {
  const [, indent = '', mark, name = ''] = /^((?: {2})+)(?:([✓✕○✎]) )?(\S.*)$/.exec(text) ?? []
  if (indent === '') return
  const depth = indent.length / 2 - 1
  groups.length = Math.min(groups.length, depth)
  if (mark === undefined) {
    groups[depth] = name
    return
  }
  const bare = name.replace(/^(skipped|todo) /, '').replace(/ \([\d.]+ m?s\)$/, '')
  list.add([file, ...groups, bare].join(BELOW), STATUS[mark] ?? 'failed')
}
