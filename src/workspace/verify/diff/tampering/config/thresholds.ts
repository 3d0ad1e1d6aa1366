import type { ChangedFile } from '../../change/change.ts'
import { isCi, isTestFile, isTestSupport, isToolConfig } from '../../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from '../../rules/rule.ts'

interface Bound {
  shape: RegExp
  /** Which way lets more pass. */
  weaker: 'lower' | 'higher'
  finding: (text: string, at: { file: string }) => DiffFinding
  /** Looked for in tests too, and not only in settings. */
  inTests?: true
}

const threshold = (text: string, at: { file: string }) => block('config.threshold', text, at)

/** Numbers that decide what passes. Group 1 is the key, group 2 the number. */
const BOUNDS: Bound[] = [
  {
    shape:
      /["']?\b(branches|functions|lines|statements|fail[_-]?under|cov-fail-under|minimum[_-]?coverage|min[_-]?coverage|coverage[_-]?threshold|coverageThreshold|test-coverage-(?:lines|branches|functions)|check-coverage|target|mutation[_-]?score|break|fail-under-lines|fail-uncovered-lines|minimumCoverage)["']?\s*[:= ]\s*["']?(\d+(?:\.\d+)?)/g,
    weaker: 'lower',
    finding: threshold,
  },
  {
    shape:
      /["']?\b(max-warnings|maxWarnings|max[_-]complexity|complexity|max-lines(?:-per-function)?|max-depth|max-params|max-statements|cognitive-complexity-threshold|cyclomatic-complexity|max[_-]line[_-]length|line-length|too-many-(?:lines|arguments)-threshold|max-args|max-branches|max-returns|max-locals|min-complexity|min-len|maxAllowedComplexity|gocyclo|threshold-tolerance|failureThreshold|maxDiffPixels|maxDiffPixelRatio|threshold)["']?\s*[:= ]\s*(?:\[\s*["']?\w+["']?\s*,\s*)?(?:\{\s*["']?max["']?\s*:\s*)?["']?(\d+(?:\.\d+)?)/g,
    weaker: 'higher',
    finding: threshold,
  },
  {
    shape:
      /\b(testTimeout|hookTimeout|test_timeout|--timeout|--test-timeout|-timeout|timeout|slow-timeout|jest\.setTimeout\(|setTimeout\(|this\.timeout\()\s*["']?\s*[:= ]?\s*["']?(\d[\d_]*)/g,
    weaker: 'higher',
    finding: (text, at) => note('test.timeout', text, at),
    inTests: true,
  },
  {
    shape:
      /\b(retries|retry|retryTimes\(|--retries|--retry|--reruns|reruns|flaky\(|test-retries)\s*["']?\s*[:= (]?\s*(?:max_runs\s*=\s*)?["']?(\d+)/g,
    weaker: 'higher',
    finding: (text, at) => note('test.retries', text, at),
    inTests: true,
  },
]

/** Numbers that were moved so that more passes. */
export const thresholdRule: DiffRule = change =>
  change.files.flatMap(file => {
    if (file.kind !== 'text') return []
    const isConfig = isToolConfig(file.path) || isCi(file.path)
    const isTest = isTestFile(file.path, file.after) || isTestSupport(file.path)
    if (!isConfig && !isTest) return []
    return BOUNDS.filter(bound => isConfig || bound.inTests).flatMap(bound => boundFindings(bound, file))
  })

function boundFindings({ shape, weaker, finding }: Bound, file: ChangedFile): DiffFinding[] {
  const before = numbersIn(file.before ?? '', shape)
  const after = numbersIn(file.after ?? '', shape)
  const at = { file: file.path }
  const findings: DiffFinding[] = []
  for (const [key, was] of before) {
    const now = after.get(key) ?? []
    const name = key.replace(/\($/, '')
    for (const [place, value] of was.entries()) {
      const next = now[place]
      if (next === undefined && weaker === 'lower' && now.length === 0 && file.status === 'modified') {
        findings.push(finding(`${file.path}: ${name} ${value} is gone: bring it back.`, at))
        break
      }
      if (next === undefined) continue
      if (weaker === 'lower' ? next < value : next > value) {
        findings.push(finding(`${file.path}: ${name} was ${value} and is ${next} now.`, at))
        break
      }
    }
  }
  if (weaker === 'higher')
    for (const [key, now] of after)
      if (!before.has(key) && /retr|rerun|flaky/i.test(key) && (now[0] ?? 0) > 0)
        findings.push(finding(`${file.path}: failing tests are tried again (${key.replace(/\($/, '')} ${now[0]}).`, at))
  return findings
}

function numbersIn(text: string, shape: RegExp): Map<string, number[]> {
  const found = new Map<string, number[]>()
  const plain = text.replace(/^\s*(#|\/\/).*$/gm, '')
  for (const [, key = '', number = ''] of plain.matchAll(shape)) {
    const value = Number(number.replaceAll('_', ''))
    found.set(key, [...(found.get(key) ?? []), value])
  }
  return found
}
