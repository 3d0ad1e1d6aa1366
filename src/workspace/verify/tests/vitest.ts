import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { BELOW, TestList, type TestParser } from './test-parser.ts'

const STATUS: Record<string, TestResult['status']> = { '✓': 'passed', '×': 'failed', '↓': 'skipped', '❯': 'failed' }

/** Vitest tells files, and every test of a file in which one failed; its verbose reporter tells every test on a line of its own. */
export function vitest(): TestParser {
  const list = new TestList()
  let file: string | undefined
  let isVitest = false
  let isOver = false
  return {
    runner: 'vitest',
    line(text) {
      if (/^\s*(RUN|DEV) {2}v\d/.test(text)) isVitest = true
      if (/^\s+Test Files {2}/.test(text)) isOver = true
      // From here on failures are told once more, with what they expected.
      if (isOver || /^⎯+ .*(Failed|Unhandled)/.test(text)) {
        file = undefined
        isOver ||= /^\s+Test Files {2}/.test(text)
        return
      }
      const [, indent = '', mark = '', said = ''] = /^( +)([✓×↓❯]) (.+)$/.exec(text) ?? []
      if (mark === '') return
      const [, whole] = /^(.+?) \(\d+ tests?\b[^)]*\)(?: \d+m?s)?$/.exec(said) ?? []
      const status = STATUS[mark] ?? 'failed'
      if (whole !== undefined && indent.length === 1) {
        file = withoutProject(whole)
        list.add(file, status)
        return
      }
      const name = said.replace(/ \d+m?s$/, '')
      if (indent.length === 1 && name.includes(BELOW)) list.add(withoutProject(name), status)
      else if (file !== undefined && indent.length >= 3 && mark !== '❯') list.add(`${file}${BELOW}${name}`, status)
    },
    results: () => (isVitest && isOver ? list.all() : undefined),
  }
}

/** `|unit| src/a.test.ts`: the project of a workspace stands before the file. */
function withoutProject(name: string): string {
  return name.replace(/^\|[^|]*\| /, '')
}
