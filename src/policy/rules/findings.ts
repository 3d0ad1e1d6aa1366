import type { Finding } from '../trust/findings.ts'
import { shownRule } from '../verdict/rules.ts'
import { parseRules } from './rules-file.ts'

/** What a project's rules would let through. Its ask and deny rules only tighten: they need nobody's yes. */
export function findingsInRules(file: string, content: string): Finding[] {
  try {
    const rules = parseRules(file, content).map(each => each.rule)
    return rules.filter(rule => rule.effect === 'allow').map(rule => ({ kind: 'allow rules', text: shownRule(rule) }))
  } catch {
    return [] // a wrong file allows nothing, whoever agrees to it
  }
}
