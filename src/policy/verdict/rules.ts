import { type Assessment, highest } from '../../domain/assessment.ts'
import { fitsPattern } from '../paths/wildcard.ts'
import { allMatch, anyMatches, patternOf } from './pattern.ts'

/** What a person wrote down: an effect, and what it is for. A tool alone means every call of that tool. */
export interface PolicyRule {
  effect: 'allow' | 'ask' | 'deny'
  /** `Bash`, `Write`, `mcp__x__*`. */
  tool: string
  /** For commands: words, with `*` at the end for more. For other tools: the path or address, with `*` for anything. */
  match?: string
  /** How it is shown, where that is not how it reads. */
  shown?: string
}

/**
 * The rule that decides: the last that matches, but a deny is final. An allow counts for a HIGH request only when it is
 * that exact request, letter by letter: nothing wider may open what is dangerous.
 */
export function ruleFor(tool: string, assessment: Assessment, rules: readonly PolicyRule[]): PolicyRule | undefined {
  const matching = rules.filter(rule => matches(rule, tool, assessment))
  return matching.findLast(rule => rule.effect === 'deny') ?? matching.at(-1)
}

/** A rule in words, for events and `pcc explain`. */
export function shownRule({ effect, tool, match, shown }: PolicyRule): string {
  return shown ?? `${effect} ${tool}${match === undefined ? '' : ` ${match}`}`
}

/** The agent has another tool that runs commands; what is said about Bash is said about commands. */
export function runsCommands(tool: string): boolean {
  return tool === 'Bash' || tool === 'Monitor'
}

function matches(rule: PolicyRule, called: string, assessment: Assessment): boolean {
  const tool = runsCommands(called) ? 'Bash' : called
  if (!globMatches(rule.tool, called) && !globMatches(rule.tool, tool)) return false
  const allows = rule.effect === 'allow'
  const { match } = rule
  const isExact = match !== undefined && assessment.normalised === (match === '' ? tool : `${tool} ${match}`)
  if (allows && risky(assessment)) return isExact && !match.includes('*')
  if (match === undefined || isExact) return true
  if (tool !== 'Bash') return globMatches(match, assessment.normalised.slice(tool.length + 1))
  const pattern = patternOf(match)
  if (pattern === undefined) return assessment.normalised === `${tool} ${match}`
  return allows ? allMatch(pattern, assessment) : anyMatches(pattern, assessment)
}

function risky({ reasons }: Assessment): boolean {
  return highest(reasons.map(reason => reason.risk)) === 'HIGH'
}

function globMatches(pattern: string, text: string): boolean {
  return fitsPattern(pattern.replace(/[?[]/g, '[$&]'), text)
}
