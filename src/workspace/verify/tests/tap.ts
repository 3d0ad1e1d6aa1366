import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { BELOW, TestList, type TestParser } from './test-parser.ts'

/** The Test Anything Protocol, with parts indented by four as `node --test` and others print them. */
export function tap(): TestParser {
  const list = new TestList()
  const groups: string[] = []
  let isTap = false
  let isWhole = false
  let isNode = false
  return {
    get runner() {
      return isNode ? 'node' : 'tap'
    },
    line(text) {
      if (/^TAP version \d+$/.test(text)) isTap = true
      if (/^1\.\.\d+/.test(text)) isWhole = true
      if (/^# duration_ms \d/.test(text)) isNode = true
      const [, opens, group = ''] = /^((?: {4})*)# Subtest: (.+)$/.exec(text) ?? []
      if (opens !== undefined) {
        groups.length = Math.min(groups.length, opens.length / 4)
        groups[opens.length / 4] = plain(group)
        return
      }
      const [, indent = '', not, said] = /^((?: {4})*)(not )?ok \d+(?: - | )(.*)$/.exec(text) ?? []
      if (said === undefined) return
      const [, name = '', note] = /^(.*?)(?: # (SKIP|TODO)\b.*)?$/i.exec(said) ?? []
      const depth = indent.length / 4
      list.add([...groups.slice(0, depth), plain(name)].join(BELOW), statusOf(not, note))
    },
    results: () => (isTap && isWhole ? list.all() : undefined),
  }
}

function statusOf(not: string | undefined, note: string | undefined): TestResult['status'] {
  if (note !== undefined) return 'skipped'
  return not === undefined ? 'passed' : 'failed'
}

function plain(name: string): string {
  return name.replaceAll(/\\([\\#])/g, '$1')
}
