import type { Assessment } from '../../domain/assessment.ts'
import type { Verdict } from '../../domain/session.ts'
import { anyMatches, describeRule, findRule, type PolicyRule, parsePattern, runsCommands } from './rules.ts'

/** An answer that somebody formed: a person earlier, or a brain. */
export interface Advice {
  approve: boolean
  confidence: number
  reason: string
}

export interface DecisionContext {
  tool: string
  /** `permissions.blocked_commands`: always refused. */
  blocked: readonly string[]
  /** In the order written; a project's allow rules only when it is trusted. */
  rules: readonly PolicyRule[]
  autoApproveLow: boolean
  /** Least confidence for an approval without a person. */
  threshold: number
  /** What a person answered to the same request before. */
  precedent?: (assessment: Assessment, signal: AbortSignal) => Promise<Advice | undefined>
  /** What the brain thinks. */
  opinion?: (assessment: Assessment, signal: AbortSignal) => Promise<Advice> | Advice
  /** Whether somebody can be asked now. */
  attached: boolean
  unattendedHigh: 'deny' | 'wait'
}

/** A verdict with what decided it. `ask` is for the supervisor to bring to a person; `morning` lists a refusal for later. */
export type Decision = Verdict & { rule?: string; morning?: true }

/**
 * May it? Blocked commands, then the person's rules, then LOW, then precedent and brain for MEDIUM, and a person for the rest.
 * HIGH is never approved by precedent or brain. Whatever fails on the way ends in a question, never in an approval.
 */
export async function decide(assessment: Assessment, context: DecisionContext, signal: AbortSignal): Promise<Decision> {
  const { risk } = assessment
  const reason = assessment.reasons[0]?.text ?? 'nothing risky was found'
  const beyond = assessment.reasons.find(({ code }) => code.startsWith('boundary.'))
  // What a worktree shares with others is pcc's to change; no rule and no person's yes of the moment makes it the agent's.
  if (beyond) return { verdict: 'deny', risk, reason: beyond.text, confidence: 1, by: 'policy' }
  const blocked = context.blocked.find(text => isBlocked(text, context.tool, assessment))
  if (blocked !== undefined)
    return {
      verdict: 'deny',
      risk,
      reason: `"${blocked}" is a blocked command; ${suggestAlternative(assessment)}`,
      confidence: 1,
      by: 'rule',
      rule: `blocked ${blocked}`,
    }
  const rule = findRule(context.tool, assessment, context.rules)
  if (rule?.effect === 'allow')
    return { verdict: 'allow', risk, reason: 'a rule allows it', confidence: 1, by: 'rule', rule: describeRule(rule) }
  if (rule?.effect === 'deny')
    return {
      verdict: 'deny',
      risk,
      reason: `a rule forbids it; ${suggestAlternative(assessment)}`,
      confidence: 1,
      by: 'rule',
      rule: describeRule(rule),
    }
  if (rule?.effect === 'ask')
    return { verdict: 'ask', risk, reason, confidence: 1, by: 'rule', rule: describeRule(rule) }
  if (risk === 'LOW' && context.autoApproveLow)
    return { verdict: 'allow', risk, reason, confidence: 0.95, by: 'policy' }
  if (risk === 'HIGH') return decideHigh(assessment, reason, context)
  if (risk === 'MEDIUM') return decideMedium(assessment, reason, context, signal)
  return { verdict: 'ask', risk, reason, confidence: 1, by: 'policy' }
}

/** A blocked entry that cannot be read as a command is compared as text, so that a mistake in it does not unblock it. */
function isBlocked(text: string, tool: string, assessment: Assessment): boolean {
  if (!runsCommands(tool)) return false
  const pattern = parsePattern(text)
  return pattern ? anyMatches(pattern, assessment) : assessment.normalised.includes(text)
}

function decideHigh(assessment: Assessment, reason: string, { attached, unattendedHigh }: DecisionContext): Decision {
  const { risk } = assessment
  if (attached || unattendedHigh === 'wait') return { verdict: 'ask', risk, reason, confidence: 0, by: 'policy' }
  return {
    verdict: 'deny',
    risk,
    reason: `${reason}; ${suggestAlternative(assessment)}`,
    confidence: 1,
    by: 'policy',
    morning: true,
  }
}

async function decideMedium(
  assessment: Assessment,
  reason: string,
  context: DecisionContext,
  signal: AbortSignal,
): Promise<Decision> {
  const { risk } = assessment
  const before = await ask(context.precedent, assessment, signal)
  if (before) {
    const verdict = before.approve ? 'allow' : 'deny'
    if (!before.approve || before.confidence >= context.threshold)
      return { verdict, risk, reason: before.reason, confidence: before.confidence, by: 'precedent' }
  }
  const opinion = await ask(context.opinion, assessment, signal)
  if (opinion?.approve && opinion.confidence >= context.threshold)
    return { verdict: 'allow', risk, reason: opinion.reason, confidence: opinion.confidence, by: 'brain' }
  return {
    verdict: 'ask',
    risk,
    reason: opinion?.reason ?? reason,
    confidence: opinion?.confidence ?? 0,
    by: opinion ? 'brain' : 'policy',
  }
}

type Asked = DecisionContext['opinion'] | DecisionContext['precedent']

async function ask(whom: Asked, assessment: Assessment, signal: AbortSignal): Promise<Advice | undefined> {
  if (!whom || signal.aborted) return undefined
  try {
    return await whom(assessment, signal)
  } catch {
    // A brain or a memory that fails has no say; the request goes on to a person.
    return undefined
  }
}

/** What an agent can do instead, by the beginning of a reason's code. The first that fits counts. */
const ALTERNATIVES: [beginning: string, way: string][] = [
  ['boundary.file', 'leave it as it is; what lies in this worktree is yours'],
  ['boundary.', 'commit here; pcc merges it'],
  ['path.secret', 'do without the secret; ask for a value in your report if you need one'],
  ['secret.', 'do without the secret'],
  ['write.', 'use the Write or Edit tool'],
  ['editor', 'use the Edit tool'],
  ['file.delete', 'leave the file where it is and name it in your report'],
  ['file.mode', 'leave the rights as they are; run a script through its interpreter'],
  ['git.force', 'push without force, or leave pushing to a person'],
  ['git.destroy', 'keep the work: commit it, or stash it'],
  ['pipe.interpreter', 'save it with the Write tool, read it, then run it from the project'],
  ['net.run', 'add it to the project as a dependency'],
  ['net.download', 'read it with WebFetch and write it with the Write tool'],
  ['path.outside', 'stay inside the project'],
  ['shell.', 'write it as plain separate commands'],
  ['name.unknown', 'name the program plainly'],
  ['code.', 'put the code into a file of the project and run that'],
  ['pkg.publish', 'leave publishing to a person'],
]

/** The way round for a request that was refused. */
export function suggestAlternative({ reasons }: Assessment): string {
  for (const { code, risk } of reasons) {
    if (risk !== 'HIGH') continue
    const way = ALTERNATIVES.find(([beginning]) => code.startsWith(beginning))
    if (way) return way[1]
  }
  return 'go on without it and say in your report that it was left out'
}
