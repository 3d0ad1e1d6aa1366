import { stat } from 'node:fs/promises'
import { type AppPaths, ownFolders } from '../../base/app-paths.ts'
import type { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import { quoteForShell } from '../../base/words.ts'
import { judgePermission } from '../../brain/rules/permission.ts'
import type { Assessment } from '../../domain/assessment.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { findPrecedent, type MemorySettings, type PrecedentAdvice, readMemorySettings } from '../../human/precedents.ts'
import { explainTree } from '../../policy/classify/assessment-tree.ts'
import { type Classifier, openClassifier } from '../../policy/classify/classify.ts'
import { resolveRealPath } from '../../policy/paths/fence.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import { type Decision, type DecisionContext, decide, suggestAlternative } from '../../policy/verdict/decide.ts'
import { userRulesFile } from '../../policy/verdict/find-rules.ts'
import { type LoadedRules, loadRules } from '../../policy/verdict/load-rules.ts'
import { describeRule, type PolicyRule } from '../../policy/verdict/rules.ts'
import { openRememberedAnswers, type RememberedAnswers } from '../../store/offline-reads.ts'
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
  const { assessment, decision, remembered } = await judgeCall(call, { classifier, policy, attached: false })
  const { decision: atTerminal } = await judgeCall(call, { classifier, policy, attached: true })
  const facts = { call, assessment, decision, policy, remembered }
  const decider = deciderOf(facts)
  const changes = listChanges(facts)
  if (policy.problem) note(`${policy.problem.message}. ${policy.problem.next}`)
  if (json) {
    const { risk, verdict, confidence, by, reason } = decision
    const { tool, project } = call
    const { reasons, pieces, normalised } = assessment
    const attached = { verdict: atTerminal.verdict, by: atTerminal.by }
    const summary = { tool, project, normalised, risk, verdict, confidence, by, reason, decided: decider, attached }
    out(JSON.stringify({ ...summary, would_change: changes, reasons, pieces }, null, 2))
    return
  }
  const { paint } = terminal
  for (const line of explainTree(assessment)) out(paintRisk(line, paint))
  out('')
  out(`${paint('bold', 'Risk:')}      ${paint(RISK_TONES[decision.risk] ?? 'bold', decision.risk)}`)
  out(`${paint('bold', 'Verdict:')}   ${describeVerdict(decision, atTerminal)}`)
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

function paintRisk(line: string, paint: (tone: Tone, text: string) => string): string {
  return line.replace(/^( *(?:- )?)(LOW|MEDIUM|HIGH)\b/, (_, indent: string, risk: string) => {
    return indent + paint(RISK_TONES[risk] ?? 'bold', risk)
  })
}

/** A tool call that is judged but not run. */
interface ExplainedCall {
  tool: string
  input: unknown
  project: string
  home: string
}

export interface JudgeCallDeps {
  classifier: Classifier
  policy: ProjectPolicy
  /** Whether a person is there to ask. */
  attached: boolean
  /** Rules that come after those of the files. */
  moreRules?: (assessment: Assessment) => readonly PolicyRule[]
  /** Replaces the lookup of remembered answers. */
  precedent?: DecisionContext['precedent']
}

export interface JudgedCall {
  assessment: Assessment
  decision: Decision
  /** What a person answered before, if it was looked up. */
  remembered?: PrecedentAdvice | undefined
}

/** Decides about a call as a session would. Nothing is run and nothing is remembered. */
export async function judgeCall(
  call: ExplainedCall,
  { classifier, policy, attached, moreRules, precedent }: JudgeCallDeps,
): Promise<JudgedCall> {
  const { tool, input, home } = call
  const project = resolveRealPath(call.project) ?? call.project
  const { safeDirectories, settings, rules } = policy
  const assessment = await classifier.classify({ tool, input, project, home, safeDirectories })
  let remembered: PrecedentAdvice | undefined
  const recall = async (question: Assessment) => {
    remembered = await findPrecedent(policy.answers, { project, tool, assessment: question, memory: policy.memory })
    return remembered
  }
  const decision = await decide(
    assessment,
    {
      ...settings,
      tool,
      rules: moreRules ? [...rules.rules, ...moreRules(assessment)] : rules.rules,
      opinion: judgePermission,
      precedent: precedent ?? recall,
      attached,
    },
    NEVER_ABORTED,
  )
  return { assessment, decision, remembered }
}

/** The rule brain answers at once, so there is nothing to abort. */
const NEVER_ABORTED = new AbortController().signal

export interface VerdictFacts {
  call: ExplainedCall
  assessment: Assessment
  decision: Decision
  policy: ProjectPolicy
  remembered?: PrecedentAdvice | undefined
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

function addRuleCommand(effect: PolicyRule['effect'], { call, assessment }: VerdictFacts): string {
  const match = findMatch(call, assessment)
  return [
    'pcc rules add',
    effect,
    quoteForShell(call.tool),
    ...(match === undefined ? [] : [quoteForShell(match)]),
  ].join(' ')
}

function findMatch({ tool }: ExplainedCall, { normalised }: Assessment): string | undefined {
  const space = normalised.indexOf(' ')
  return normalised === tool || space === -1 ? undefined : normalised.slice(space + 1)
}

export interface ProjectPolicy {
  settings: Pick<DecisionContext, 'blocked' | 'autoApproveLow' | 'threshold' | 'unattendedHigh'>
  safeDirectories: readonly string[]
  rules: LoadedRules
  /** The file of the user's own rules. */
  userFile: string
  /** Answers that people gave before. */
  answers: Pick<RememberedAnswers, 'find'>
  /** How much weight those answers have. */
  memory: MemorySettings
  problem?: AppError
}

export interface PolicyLocation {
  paths: AppPaths
  env: Record<string, string | undefined>
  /** A directory that does not exist has no settings of its own: the user's apply. */
  project: string
  /** Used instead of the user's own rules file. */
  userFile?: string | undefined
  /** Answers that people gave before; absent means none. */
  answers?: RememberedAnswers
}

const NO_ANSWERS = { find: async () => undefined }

/** Loads the settings and rules that are in force in a project, as a session there would have them. */
export async function loadProjectPolicy(location: PolicyLocation): Promise<ProjectPolicy> {
  const { paths, env, project, userFile, answers = NO_ANSWERS } = location
  const isDirectory = (await stat(project).catch(() => undefined))?.isDirectory() === true
  const trusted = isDirectory ? trustedFile(await trustStatus(paths, project)) : () => false
  const inProject = isDirectory ? { project } : {}
  const { config } = await loadConfig({ paths, env, trusted, ...inProject })
  const rules = await loadRules({ paths, trusted, userFile, ...inProject })
  const { permissions, brain } = config
  return {
    settings: {
      blocked: permissions.blocked_commands,
      autoApproveLow: permissions.auto_approve_low_risk,
      threshold: brain.confidence_threshold,
      unattendedHigh: permissions.unattended_high,
    },
    safeDirectories: permissions.safe_directories,
    rules,
    userFile: userFile ?? userRulesFile(paths),
    answers,
    memory: readMemorySettings(config.memory),
    ...(rules.problem && { problem: rules.problem }),
  }
}
