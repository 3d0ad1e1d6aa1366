import { shellWord } from '../../base/shell-word.ts'
import type { Assessment } from '../../domain/assessment.ts'
import type { PrecedentAdvice } from '../../human/precedents.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import { type PolicyRule, shownRule } from '../../policy/verdict/rules.ts'
import { wayRound } from '../../policy/verdict/way-round.ts'
import type { Call } from './judge-call.ts'
import type { ProjectPolicy } from './project-policy.ts'

export interface Facts {
  call: Call
  assessment: Assessment
  decision: Decision
  policy: ProjectPolicy
  remembered?: PrecedentAdvice | undefined
}

/** What decided, with the place where it is written. */
export function deciderOf({ decision, policy, remembered }: Facts): string {
  const { by, rule, risk, confidence } = decision
  if (rule?.startsWith('blocked ')) return 'permissions.blocked_commands, which nothing overrides'
  if (by === 'rule') {
    const where = writtenAt(rule, policy)
    return where ? `the rule "${rule}" (${where.file}:${where.line})` : 'a rules file is wrong, so everything asks'
  }
  if (by === 'precedent' && remembered) {
    const who = remembered.by === 'human' ? 'you' : remembered.by
    return `${who} answered this on ${remembered.day}: ${remembered.approve ? 'approve' : 'deny'}`
  }
  if (by === 'brain' && decision.verdict === 'allow')
    return `the rule brain, sure to ${confidence} of the ${policy.settings.threshold} that are needed`
  if (by === 'brain') return 'the rule brain is not sure, so a person is asked'
  if (risk === 'LOW') return policy.settings.autoApproveLow ? 'LOW risk is allowed' : 'LOW risk is asked about here'
  return `${risk} risk, and no rule says otherwise`
}

/** The ways to another verdict, each as something that can be typed on one line. */
export function wouldChange(facts: Facts): string[] {
  const ways = waysOf(facts).filter(way => !UNTYPABLE.test(way))
  return ways.length > 0 ? ways : ['your answer when it is asked']
}

/** No rule can hold what cannot be seen, several lines included. */
const UNTYPABLE = /[\p{Cc}\p{Cf}\p{Cs}]/u

function waysOf(facts: Facts): string[] {
  const { decision, policy, assessment } = facts
  const { verdict, by, risk, rule } = decision
  if (rule?.startsWith('blocked '))
    return [`take ${JSON.stringify(rule.slice('blocked '.length))} out of the setting permissions.blocked_commands`]
  if (by === 'rule') return ofRule(facts)
  if (verdict === 'allow')
    return [
      `to be asked: ${adding('ask', facts)}`,
      `to forbid it: ${adding('deny', facts)}`,
      ...(risk === 'LOW'
        ? ['to be asked about everything LOW: pcc config set permissions.auto_approve_low_risk false']
        : []),
      ...(by === 'brain'
        ? ['to be asked about all that the brain allows: pcc config set brain.confidence_threshold 1']
        : []),
    ]
  if (risk === 'HIGH')
    return [
      ...(exactRuleWorks(facts) ? [`a rule for exactly this, no wider: ${adding('allow', facts)}`] : []),
      ...(policy.settings.unattendedHigh === 'deny'
        ? ['to be asked later and not refused at once: pcc config set permissions.unattended_high wait']
        : []),
      `another way to the same end: ${wayRound(assessment)}`,
    ]
  return [
    `to allow it: ${adding('allow', facts)}`,
    ...(risk === 'LOW' ? ['to allow all LOW risk: pcc config set permissions.auto_approve_low_risk true'] : []),
  ]
}

function ofRule({ decision, policy }: Facts): string[] {
  const where = writtenAt(decision.rule, policy)
  if (!where) return [policy.problem ? `correct ${policy.problem.message}` : 'correct the rules file']
  const flag = where.file === policy.userFile ? '' : ' --project'
  const later = decision.verdict === 'deny' ? 'nothing else: a deny is final' : 'a later rule that matches as well'
  return [`without the rule: pcc rules remove ${where.number}${flag}`, later]
}

function writtenAt(rule: string | undefined, { rules }: ProjectPolicy) {
  return rules.written.findLast(each => shownRule(each.rule) === rule)
}

/** A wildcard has no meaning in a rule for one exact request. */
function exactRuleWorks({ call, assessment }: Facts): boolean {
  const match = matchFor(call, assessment)
  return match !== undefined && !match.includes('*')
}

function adding(effect: PolicyRule['effect'], { call, assessment }: Facts): string {
  const match = matchFor(call, assessment)
  return ['pcc rules add', effect, shellWord(call.tool), ...(match === undefined ? [] : [shellWord(match)])].join(' ')
}

function matchFor({ tool }: Call, { normalised }: Assessment): string | undefined {
  const space = normalised.indexOf(' ')
  return normalised === tool || space === -1 ? undefined : normalised.slice(space + 1)
}
