import type { Finding } from '../../../domain/evidence.ts'
import type { DiffChange, DiffSettings } from './change.ts'
import { checkerRule } from './checker-rule.ts'
import { installRule, launcherRule, shimRule, thresholdRule } from './config-rules.ts'
import { binaryRule, fits, mergeMarkerRule, pathRule, sameFileRule, secretRule, sizeRule } from './file-rules.ts'
import { lintRule } from './lint-rule.ts'
import { mockRule, riggedRule } from './rigged-rule.ts'
import type { DiffFinding, DiffRule } from './rule.ts'
import { scriptRule } from './script-rule.ts'
import { snapshotRule } from './snapshot-rule.ts'
import { testRule } from './test-rule.ts'
import { unreadTestRule } from './unread-test-rule.ts'

/** Rules about changes that make a check pass without making the work right. */
const TAMPERING_RULES: readonly DiffRule[] = [
  testRule,
  unreadTestRule,
  snapshotRule,
  mockRule,
  riggedRule,
  shimRule,
  scriptRule,
  launcherRule,
  installRule,
  checkerRule,
  thresholdRule,
  lintRule,
]

const RULES: readonly DiffRule[] = [
  sizeRule,
  pathRule,
  secretRule,
  binaryRule,
  sameFileRule,
  mergeMarkerRule,
  ...TAMPERING_RULES,
]

/** Most findings of a report, since nobody reads more. Blocking ones come first. */
const MOST_FINDINGS = 60

/** The findings of all rules for a change, without those that a person allows. Pure. */
export function judgeChange(change: DiffChange, settings: DiffSettings): Finding[] {
  const found = RULES.flatMap(rule => rule(change, settings)).filter(finding => !isAllowed(finding, settings.allow))
  return once(found).sort(byWeight).slice(0, MOST_FINDINGS)
}

/** `path.ci` allows the finding anywhere, `path.ci:.github/workflows/docs.yml` only there. */
function isAllowed({ code, file }: DiffFinding, allow: readonly string[]): boolean {
  return allow.some(each => {
    if (each === code) return true
    return file !== undefined && each.startsWith(`${code}:`) && fits(file, each.slice(code.length + 1))
  })
}

function once(findings: DiffFinding[]): DiffFinding[] {
  const seen = new Set<string>()
  return findings.filter(({ code, weight, file, line, text }) => {
    const key = [code, weight, file, line ?? text].join('\0')
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

function byWeight(one: Finding, other: Finding): number {
  return (one.weight === 'block' ? 0 : 1) - (other.weight === 'block' ? 0 : 1)
}
