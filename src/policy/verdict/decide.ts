import type { Assessment } from '../../domain/assessment.ts'
import type { Verdict } from '../../domain/session.ts'
import { anyMatches, describeRule, findRule, type PolicyRule, parsePattern, runsCommands } from './rules.ts'
import { leaveToSandbox } from './sandbox.ts'

/** Advice on a request: a person's earlier answer, or a brain's opinion. */
export interface Advice {
  approve: boolean
  confidence: number
  reason: string
}

export interface DecisionContext {
  tool: string
  /** `permissions.blocked_commands`: always refused. */
  blocked: readonly string[]
  /** In the order written; a project's allow rules are included only if the project is trusted. */
  rules: readonly PolicyRule[]
  autoApproveLow: boolean
  /** The least confidence for an approval without a person. */
  threshold: number
  /** A person's earlier answer to the same request. */
  precedent?: (assessment: Assessment, signal: AbortSignal) => Promise<Advice | undefined>
  /** The brain's opinion. */
  opinion?: (assessment: Assessment, signal: AbortSignal) => Promise<Advice> | Advice
  /** Whether a person can be asked now. */
  attached: boolean
  unattendedHigh: 'deny' | 'wait'
  /** Whether the call runs in a sandbox that holds now: what stays in there is left to it. */
  walled?: boolean
}

/** A verdict with the rule that decided it. The supervisor puts an `ask` to a person; `morning` lists a refusal for later. */
export type Decision = Verdict & { rule?: string; morning?: true }

/**
 * Decides whether a request may happen. In this order: blocked commands, the person's rules, approval of LOW, precedent and brain
 * for MEDIUM, and a person for the rest. Neither precedent nor brain ever approves HIGH. Every failure on the way ends in a
 * question, never in an approval.
 */
export async function decide(assessment: Assessment, context: DecisionContext, signal: AbortSignal): Promise<Decision> {
  const { risk } = assessment
  const reason = explainFirst(assessment)
  const secret = assessment.reasons.find(({ code }) => code === 'secret.leaves')
  // Whoever approves a call sees the secret hidden, so nobody can know what they would send.
  if (secret)
    return {
      verdict: 'deny',
      risk,
      reason: `${secret.text}; ${KEEP_SECRET}`,
      confidence: 1,
      by: 'policy',
      morning: true,
    }
  const boundary = assessment.reasons.find(({ code }) => code.startsWith('boundary.'))
  // Only pcc may change what a worktree shares with others; neither a rule nor a person's yes allows it to the agent.
  if (boundary) return { verdict: 'deny', risk, reason: boundary.text, confidence: 1, by: 'policy' }
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
  return decideByRisk(context.walled ? leaveToSandbox(assessment) : assessment, context, signal)
}

async function decideByRisk(assessment: Assessment, context: DecisionContext, signal: AbortSignal): Promise<Decision> {
  const { risk } = assessment
  const reason = explainFirst(assessment)
  if (risk === 'LOW' && context.autoApproveLow)
    return { verdict: 'allow', risk, reason, confidence: 0.95, by: 'policy' }
  if (risk === 'HIGH') return decideHigh(assessment, reason, context)
  if (risk === 'MEDIUM') return decideMedium(assessment, reason, context, signal)
  return { verdict: 'ask', risk, reason, confidence: 1, by: 'policy' }
}

function explainFirst({ reasons }: Assessment): string {
  return reasons[0]?.text ?? 'nothing risky was found'
}

const KEEP_SECRET = 'do without it, or let a program of the project read it where it is kept'

/** A blocked entry that cannot be parsed as a command is compared as text, so that a mistake in it does not unblock it. */
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
  const precedent = await ask(context.precedent, assessment, signal)
  if (precedent) {
    const verdict = precedent.approve ? 'allow' : 'deny'
    if (!precedent.approve || precedent.confidence >= context.threshold)
      return { verdict, risk, reason: precedent.reason, confidence: precedent.confidence, by: 'precedent' }
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

type Adviser = DecisionContext['opinion'] | DecisionContext['precedent']

async function ask(adviser: Adviser, assessment: Assessment, signal: AbortSignal): Promise<Advice | undefined> {
  if (!adviser || signal.aborted) return undefined
  try {
    return await adviser(assessment, signal)
  } catch {
    // A brain or a memory that fails has no say; the request goes to a person.
    return undefined
  }
}

/** What an agent can do instead, by the beginning of a reason's code. The first match counts. */
const ALTERNATIVES: [beginning: string, alternative: string][] = [
  ['boundary.file', 'leave it as it is; the files in this worktree are yours'],
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

/** What the agent can do instead of a refused request. */
export function suggestAlternative({ reasons }: Assessment): string {
  for (const { code, risk } of reasons) {
    if (risk !== 'HIGH') continue
    const entry = ALTERNATIVES.find(([beginning]) => code.startsWith(beginning))
    if (entry) return entry[1]
  }
  return 'go on without it and say in your report that it was left out'
}
