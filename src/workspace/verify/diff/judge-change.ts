import type { Finding } from '../../../domain/workspace/evidence.ts'
import type { Change, DiffSettings } from './change/change.ts'
import { binaryRule } from './rules/binaries.ts'
import { mergeMarkerRule } from './rules/merge-markers.ts'
import { fits, pathRule } from './rules/paths.ts'
import type { DiffFinding, DiffRule } from './rules/rule.ts'
import { secretRule } from './rules/secrets.ts'
import { sizeRule } from './rules/size.ts'
import { TAMPERING_RULES } from './tampering/all.ts'

const RULES: readonly DiffRule[] = [sizeRule, pathRule, secretRule, binaryRule, mergeMarkerRule, ...TAMPERING_RULES]

/** A report with more lines than these is read by nobody. What keeps the task from being done comes first. */
const MOST_FINDINGS = 60

/** What all rules see in a change, without what a person lets pass. Pure. */
export function judgeChange(change: Change, settings: DiffSettings): Finding[] {
  const found = RULES.flatMap(rule => rule(change, settings)).filter(finding => !isAllowed(finding, settings.allow))
  return once(found).sort(byWeight).slice(0, MOST_FINDINGS)
}

/** `path.ci` lets the finding pass anywhere, `path.ci:.github/workflows/docs.yml` only there. */
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
