import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { BELOW, TestList, type TestParser } from './test-parser.ts'

const STATUS: Record<string, TestResult['status']> = { '✔': 'passed', '✖': 'failed', '﹣': 'skipped', '⚠': 'skipped' }

/** The reporter of `node --test` for people: groups open with an arrow, their parts are indented, failures come once more below. */
export function nodeSpec(): TestParser {
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
        groups[depth] = rest.replace(TIME, '')
        return
      }
      if (!TIME.test(rest)) return
      const name = [...groups.slice(0, depth), rest.replace(TIME, '')].join(BELOW)
      list.add(name, / # (SKIP|TODO)\b[^)]*$/.test(rest) ? 'skipped' : (STATUS[mark] ?? 'failed'))
    },
    results: () => (isOver ? list.all() : undefined),
  }
}

const TIME = / \(\d+(\.\d+)?ms\)( # .*)?$/
