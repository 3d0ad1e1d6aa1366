import { ownFolders } from '../../base/app-paths.ts'
import { neutral } from '../../base/neutral.ts'
import { quoteForShell } from '../../base/words.ts'
import type { Assessment } from '../../domain/assessment.ts'
import type { PrecedentAdvice } from '../../human/precedents.ts'
import { explainTree } from '../../policy/classify/assessment-tree.ts'
import { openClassifier } from '../../policy/classify/classify.ts'
import { type Decision, suggestAlternative } from '../../policy/verdict/decide.ts'
import { describeRule, type PolicyRule } from '../../policy/verdict/rules.ts'
import { openRememberedAnswers } from '../../store/offline-reads.ts'
import {
  type ExplainedCall,
  judgeExplained,
  judgeInTask,
  loadProjectPolicy,
  type ProjectPolicy,
} from '../../supervisor/judge-call.ts'
import type { CommandContext } from '../context.ts'
import type { Tone } from '../render/text.ts'

/** Prints the pieces of a call with the risk of each, the verdict, what decided it and what would change it. */
export async function explainCall(
  call: ExplainedCall,
  { paths, env, terminal, json, out, note }: CommandContext,
): Promise<void> {
  using classifier = openClassifier({ own: ownFolders(paths) })
  using answers = openRememberedAnswers(paths.database)
  const policy = await loadProjectPolicy({ paths, env, project: call.project, answers })
  const { assessment, decision, remembered } = await judgeExplained(call, { classifier, policy, attached: false })
  const { decision: atTerminal } = await judgeExplained(call, { classifier, policy, attached: true })
  const { decision: inSandbox } = await judgeExplained(call, { classifier, policy, attached: false, walled: true })
  const task = await judgeInTask(call, { classifier, policy })
  const inTask = task?.refusal
  const differs = inTask === undefined && task !== undefined && task.decision.verdict !== inSandbox.verdict
  const facts = { call, assessment, decision, policy, remembered, inTask }
  const decider = deciderOf(facts)
  const changes = listChanges(facts)
  if (policy.problem) note(`${policy.problem.message}. ${policy.problem.next}`)
  if (json) {
    const { risk, verdict, confidence, by, reason } = decision
    const { tool, project } = call
    const { reasons, pieces, normalised } = assessment
    const attached = { verdict: atTerminal.verdict, by: atTerminal.by }
    const sandboxed = { risk: inSandbox.risk, verdict: inSandbox.verdict, by: inSandbox.by, reason: inSandbox.reason }
    const decided = { risk, verdict, confidence, by, reason, decided: decider }
    const taskVerdict = differs ? { verdict: task.decision.verdict, reason: task.decision.reason } : null
    const in_task = inTask === undefined ? taskVerdict : { verdict: 'deny', reason: inTask }
    const summary = { tool, project, normalised, ...decided, attached, sandboxed, in_task }
    out(JSON.stringify({ ...summary, would_change: changes, reasons, pieces }, null, 2))
    return
  }
  const { paint } = terminal
  for (const line of explainTree(assessment)) out(paintRisk(line, paint))
  out('')
  out(`${paint('bold', 'Risk:')}      ${paint(RISK_TONES[decision.risk] ?? 'bold', decision.risk)}`)
  out(`${paint('bold', 'Verdict:')}   ${describeVerdict(decision, atTerminal)}`)
  if (inSandbox.verdict !== decision.verdict || inSandbox.risk !== decision.risk)
    out(`${paint('bold', 'Sandbox:')}   ${describeInSandbox(inSandbox)}`)
  if (inTask !== undefined)
    out(`${paint('bold', 'In a task:')} denied, whatever rules or people say: ${neutral(inTask)}`)
  if (differs) out(`${paint('bold', 'In a task:')} ${describeInSandbox(task.decision, 'in the worktree of a task')}`)
  out(`${paint('bold', 'Decided:')}   ${neutral(decider)}`)
  out(`${paint('bold', 'Reason:')}    ${neutral(decision.reason)}`)
  out(paint('bold', 'What would change it:'))
  for (const change of changes) out(`  - ${neutral(change)}`)
}

const RISK_TONES: Record<string, Tone> = { LOW: 'green', MEDIUM: 'yellow', HIGH: 'red' }
const VERDICT_TEXT = { allow: 'allowed', deny: 'denied', ask: 'a person is asked' }

type Verdict = keyof typeof VERDICT_TEXT

function describeVerdict(
  { verdict, confidence }: { verdict: Verdict; confidence: number },
  attached: { verdict: Verdict },
) {
  const confidenceText = verdict === 'ask' ? '' : ` (confidence ${confidence})`
  if (attached.verdict === verdict) return `${VERDICT_TEXT[verdict]}${confidenceText}`
  return `${VERDICT_TEXT[verdict]} with nobody there; ${VERDICT_TEXT[attached.verdict]} at an attached terminal`
}

function describeInSandbox({ risk, verdict, reason }: Decision, where = 'where the agent runs'): string {
  return `${risk} and ${VERDICT_TEXT[verdict]} ${where} in a sandbox (${neutral(reason)})`
}

function paintRisk(line: string, paint: (tone: Tone, text: string) => string): string {
  return line.replace(/^( *(?:- )?)(LOW|MEDIUM|HIGH)\b/, (_, indent: string, risk: string) => {
    return indent + paint(RISK_TONES[risk] ?? 'bold', risk)
  })
}

export interface VerdictFacts {
  call: ExplainedCall
  assessment: Assessment
  decision: Decision
  policy: ProjectPolicy
  remembered?: PrecedentAdvice | undefined
  /** Why nobody can allow it in the worktree of a task. */
  inTask?: string | undefined
}

/** Says what decided, and where that is written. */
export function deciderOf({ decision, policy, remembered }: VerdictFacts): string {
  const { by, rule, risk, confidence } = decision
  if (rule?.startsWith('blocked ')) return 'permissions.blocked_commands, which nothing overrides'
  if (by === 'rule') {
    const written = findWrittenRule(rule, policy)
    return written
      ? `the rule "${rule}" (${written.file}:${written.line})`
      : 'a rules file is wrong, so everything asks'
  }
  if (by === 'precedent' && remembered) {
    const who = remembered.by === 'human' ? 'you' : remembered.by
    return `${who} answered this on ${remembered.day}: ${remembered.approve ? 'approve' : 'deny'}`
  }
  if (by === 'brain' && decision.verdict === 'allow')
    return `the rule brain, with confidence ${confidence} where ${policy.settings.threshold} is needed`
  if (by === 'brain') return 'the rule brain is not sure, so a person is asked'
  if (risk === 'LOW') return policy.settings.autoApproveLow ? 'LOW risk is allowed' : 'LOW risk is asked about here'
  return `${risk} risk, and no rule says otherwise`
}

/** Ways to get another verdict, each of which can be typed on one line. */
function listChanges(facts: VerdictFacts): string[] {
  const changes = proposeChanges(facts).filter(change => !UNTYPABLE.test(change))
  return changes.length > 0 ? changes : ['your answer when it is asked']
}

/** Invisible characters, line breaks included: no rule can hold them. */
const UNTYPABLE = /[\p{Cc}\p{Cf}\p{Cs}]/u

function proposeChanges(facts: VerdictFacts): string[] {
  const { decision, policy, assessment } = facts
  const { verdict, by, risk, rule } = decision
  if (rule?.startsWith('blocked '))
    return [`take ${JSON.stringify(rule.slice('blocked '.length))} out of the setting permissions.blocked_commands`]
  if (by === 'rule') return proposeRuleChanges(facts)
  if (verdict === 'allow')
    return [
      `to be asked: ${addRuleCommand('ask', facts)}`,
      `to forbid it: ${addRuleCommand('deny', facts)}`,
      ...(risk === 'LOW'
        ? ['to be asked about everything LOW: pcc config set permissions.auto_approve_low_risk false']
        : []),
      ...(by === 'brain'
        ? ['to be asked about all that the brain allows: pcc config set brain.confidence_threshold 1']
        : []),
    ]
  if (risk === 'HIGH')
    return [
      ...(canHaveExactRule(facts) ? [`a rule for exactly this, no wider: ${addRuleCommand('allow', facts)}`] : []),
      ...(policy.settings.unattendedHigh === 'deny'
        ? ['to be asked later and not refused at once: pcc config set permissions.unattended_high wait']
        : []),
      `another way to the same end: ${suggestAlternative(assessment)}`,
    ]
  return [
    `to allow it: ${addRuleCommand('allow', facts)}`,
    ...(risk === 'LOW' ? ['to allow all LOW risk: pcc config set permissions.auto_approve_low_risk true'] : []),
  ]
}

function proposeRuleChanges({ decision, policy }: VerdictFacts): string[] {
  const written = findWrittenRule(decision.rule, policy)
  if (!written) return [policy.problem ? `correct ${policy.problem.message}` : 'correct the rules file']
  const flag = written.file === policy.userFile ? '' : ' --project'
  const alternative =
    decision.verdict === 'deny' ? 'nothing else: a deny is final' : 'a later rule that matches as well'
  return [`without the rule: pcc rules remove ${written.number}${flag}`, alternative]
}

function findWrittenRule(rule: string | undefined, { rules }: ProjectPolicy) {
  return rules.written.findLast(each => describeRule(each.rule) === rule)
}

/** A rule for one exact request cannot contain a wildcard. */
function canHaveExactRule({ call, assessment }: VerdictFacts): boolean {
  const match = findMatch(call, assessment)
  return match !== undefined && !match.includes('*')
}

function addRuleCommand(effect: PolicyRule['effect'], { call, assessment, inTask }: VerdictFacts): string {
  const match = findMatch(call, assessment)
  const words = [
    'pcc rules add',
    effect,
    quoteForShell(call.tool),
    ...(match === undefined ? [] : [quoteForShell(match)]),
  ]
  const limits = inTask === undefined || effect === 'deny' ? '' : " (without effect in a task's worktree)"
  return `${words.join(' ')}${limits}`
}

function findMatch({ tool }: ExplainedCall, { normalised }: Assessment): string | undefined {
  const space = normalised.indexOf(' ')
  return normalised === tool || space === -1 ? undefined : normalised.slice(space + 1)
}
