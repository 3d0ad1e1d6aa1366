import { stat } from 'node:fs/promises'
import type { AppPaths } from '../../base/app-paths.ts'
import type { AppError } from '../../base/errors.ts'
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
import { type LoadedRules, loadRules } from '../../policy/verdict/load-rules.ts'
import { describeRule, type PolicyRule } from '../../policy/verdict/rules.ts'
import { userRulesFile } from '../../policy/verdict/rules-file.ts'
import { openRememberedAnswers, type RememberedAnswers } from '../../store/offline-reads.ts'
import type { CommandContext } from '../context.ts'
import { neutral, type Tone } from '../render/text.ts'

/** Prints what a call is made of, with the risk of each piece, what decided and what would change it. */
export async function explainCall(
  call: ExplainedCall,
  { paths, env, terminal, json, out, note }: CommandContext,
): Promise<void> {
  using classifier = openClassifier()
  using answers = openRememberedAnswers(paths.database)
  const policy = await loadProjectPolicy({ paths, env, project: call.project, answers })
  const { assessment, decision, remembered } = await judgeCall(call, { classifier, policy, attached: false })
  const { decision: atTerminal } = await judgeCall(call, { classifier, policy, attached: true })
  const facts = { call, assessment, decision, policy, remembered }
  const decider = deciderOf(facts)
  const changes = waysToChange(facts)
  if (policy.problem) note(`${policy.problem.message}. ${policy.problem.next}`)
  if (json) {
    const { risk, verdict, confidence, by, reason } = decision
    const { tool, project } = call
    const { reasons, pieces, normalised } = assessment
    const attached = { verdict: atTerminal.verdict, by: atTerminal.by }
    const page = { tool, project, normalised, risk, verdict, confidence, by, reason, decided: decider, attached }
    out(JSON.stringify({ ...page, would_change: changes, reasons, pieces }, null, 2))
    return
  }
  const { paint } = terminal
  for (const line of explainTree(assessment)) out(paintRisk(line, paint))
  out('')
  out(`${paint('bold', 'Risk:')}      ${paint(TONES[decision.risk] ?? 'bold', decision.risk)}`)
  out(`${paint('bold', 'Verdict:')}   ${verdictLine(decision, atTerminal)}`)
  out(`${paint('bold', 'Decided:')}   ${neutral(decider)}`)
  out(`${paint('bold', 'Reason:')}    ${neutral(decision.reason)}`)
  out(paint('bold', 'What would change it:'))
  for (const change of changes) out(`  - ${neutral(change)}`)
}

const TONES: Record<string, Tone> = { LOW: 'green', MEDIUM: 'yellow', HIGH: 'red' }
const WORDS = { allow: 'allowed', deny: 'denied', ask: 'a person is asked' }

type Verdict = keyof typeof WORDS

function verdictLine(
  { verdict, confidence }: { verdict: Verdict; confidence: number },
  attached: { verdict: Verdict },
) {
  const sure = verdict === 'ask' ? '' : ` (confidence ${confidence})`
  if (attached.verdict === verdict) return `${WORDS[verdict]}${sure}`
  return `${WORDS[verdict]} with nobody there; ${WORDS[attached.verdict]} at an attached terminal`
}

function paintRisk(line: string, paint: (tone: Tone, text: string) => string): string {
  return line.replace(/^( *(?:- )?)(LOW|MEDIUM|HIGH)\b/, (_, indent: string, risk: string) => {
    return indent + paint(TONES[risk] ?? 'bold', risk)
  })
}

/** A tool call that is only talked about. */
interface ExplainedCall {
  tool: string
  input: unknown
  project: string
  home: string
}

export interface JudgeCallDeps {
  classifier: Classifier
  policy: ProjectPolicy
  /** Whether somebody is there to be asked. */
  attached: boolean
  /** Rules after those of the files. */
  moreRules?: (assessment: Assessment) => readonly PolicyRule[]
  /** In place of what people answered before. */
  precedent?: DecisionContext['precedent']
}

export interface JudgedCall {
  assessment: Assessment
  decision: Decision
  /** What a person answered before, where it was looked up. */
  remembered?: PrecedentAdvice | undefined
}

/** What would become of a call. Nothing is run and nothing is remembered. */
export async function judgeCall(
  call: ExplainedCall,
  { classifier, policy, attached, moreRules, precedent }: JudgeCallDeps,
): Promise<JudgedCall> {
  const { tool, input, home } = call
  const project = resolveRealPath(call.project) ?? call.project
  const { safeDirectories, settings, rules } = policy
  const assessment = await classifier.classify({ tool, input, project, home, safeDirectories })
  let remembered: PrecedentAdvice | undefined
  const recall = async (asked: Assessment) => {
    remembered = await findPrecedent(policy.answers, { project, tool, assessment: asked, memory: policy.memory })
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
    NEVER,
  )
  return { assessment, decision, remembered }
}

/** The rule brain answers at once: there is nothing to break off. */
const NEVER = new AbortController().signal

export interface VerdictFacts {
  call: ExplainedCall
  assessment: Assessment
  decision: Decision
  policy: ProjectPolicy
  remembered?: PrecedentAdvice | undefined
}

/** What decided, with the place where it is written. */
export function deciderOf({ decision, policy, remembered }: VerdictFacts): string {
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
function waysToChange(facts: VerdictFacts): string[] {
  const ways = listWays(facts).filter(way => !UNTYPABLE.test(way))
  return ways.length > 0 ? ways : ['your answer when it is asked']
}

/** No rule can hold what cannot be seen, several lines included. */
const UNTYPABLE = /[\p{Cc}\p{Cf}\p{Cs}]/u

function listWays(facts: VerdictFacts): string[] {
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
      `another way to the same end: ${suggestAlternative(assessment)}`,
    ]
  return [
    `to allow it: ${adding('allow', facts)}`,
    ...(risk === 'LOW' ? ['to allow all LOW risk: pcc config set permissions.auto_approve_low_risk true'] : []),
  ]
}

function ofRule({ decision, policy }: VerdictFacts): string[] {
  const where = writtenAt(decision.rule, policy)
  if (!where) return [policy.problem ? `correct ${policy.problem.message}` : 'correct the rules file']
  const flag = where.file === policy.userFile ? '' : ' --project'
  const later = decision.verdict === 'deny' ? 'nothing else: a deny is final' : 'a later rule that matches as well'
  return [`without the rule: pcc rules remove ${where.number}${flag}`, later]
}

function writtenAt(rule: string | undefined, { rules }: ProjectPolicy) {
  return rules.written.findLast(each => describeRule(each.rule) === rule)
}

/** A wildcard has no meaning in a rule for one exact request. */
function exactRuleWorks({ call, assessment }: VerdictFacts): boolean {
  const match = matchFor(call, assessment)
  return match !== undefined && !match.includes('*')
}

function adding(effect: PolicyRule['effect'], { call, assessment }: VerdictFacts): string {
  const match = matchFor(call, assessment)
  return [
    'pcc rules add',
    effect,
    quoteForShell(call.tool),
    ...(match === undefined ? [] : [quoteForShell(match)]),
  ].join(' ')
}

function matchFor({ tool }: ExplainedCall, { normalised }: Assessment): string | undefined {
  const space = normalised.indexOf(' ')
  return normalised === tool || space === -1 ? undefined : normalised.slice(space + 1)
}

export interface ProjectPolicy {
  settings: Pick<DecisionContext, 'blocked' | 'autoApproveLow' | 'threshold' | 'unattendedHigh'>
  safeDirectories: readonly string[]
  rules: LoadedRules
  /** Where the person's own rules are written. */
  userFile: string
  /** What people answered before. */
  answers: Pick<RememberedAnswers, 'find'>
  /** How far those count. */
  memory: MemorySettings
  problem?: AppError
}

export interface PolicyLocation {
  paths: AppPaths
  env: Record<string, string | undefined>
  /** One that does not exist has no settings of its own: the person's count. */
  project: string
  /** In place of the person's own rules file. */
  userFile?: string | undefined
  /** What people answered before; without it nothing was. */
  answers?: RememberedAnswers
}

const NO_ANSWERS = { find: async () => undefined }

/** The settings and rules that are in force in a project, as a session there would have them. */
export async function loadProjectPolicy(place: PolicyLocation): Promise<ProjectPolicy> {
  const { paths, env, project, userFile, answers = NO_ANSWERS } = place
  const there = await stat(project).catch(() => undefined)
  const trusted = there?.isDirectory() ? trustedFile(await trustStatus(paths, project)) : () => false
  const at = there?.isDirectory() ? { project } : {}
  const { config } = await loadConfig({ paths, env, trusted, ...at })
  const rules = await loadRules({ paths, trusted, userFile, ...at })
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
