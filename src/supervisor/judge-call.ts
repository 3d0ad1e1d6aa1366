import { homedir } from 'node:os'
import type { AppPaths } from '../base/app-paths.ts'
import type { AppError } from '../base/errors.ts'
import { lookUp } from '../base/is-there.ts'
import { judgePermission } from '../brain/rules/permission.ts'
import type { Assessment } from '../domain/assessment.ts'
import { findProjectFile } from '../domain/config/layers.ts'
import { loadConfig } from '../domain/config/load.ts'
import { findPrecedent, type MemorySettings, type PrecedentAdvice, readMemorySettings } from '../human/precedents.ts'
import type { Classifier } from '../policy/classify/classify.ts'
import { resolveRealPath, type WorktreeFence } from '../policy/paths/fence.ts'
import { trustedFile, trustStatus } from '../policy/trust/trust.ts'
import { type Decision, type DecisionContext, decide } from '../policy/verdict/decide.ts'
import { type LoadedRules, loadRules } from '../policy/verdict/load-rules.ts'
import type { PolicyRule } from '../policy/verdict/rules.ts'
import { findProjectRules, userRulesFile } from '../policy/verdict/rules-file.ts'
import type { RememberedAnswers } from '../store/offline-reads.ts'
import { findGitFolder } from '../workspace/git/git-folder.ts'

/** A tool call that is judged but not run. */
export interface ExplainedCall {
  tool: string
  input: unknown
  project: string
  home: string
  /** The directory for relative paths; the project when left out. */
  cwd?: string
  /** Values that no call may carry away. */
  secrets?: readonly string[]
  /** The worktree of a task, if it is called there. */
  worktree?: WorktreeFence | undefined
}

export interface JudgeCallDeps {
  classifier: Pick<Classifier, 'classify'>
  policy: ProjectPolicy
  /** Whether a person is there to ask. */
  attached: boolean
  /** Whether it would run in a sandbox. */
  walled?: boolean
  /** Rules that come after those of the files. */
  moreRules?: (assessment: Assessment) => readonly PolicyRule[]
  /** Replaces the lookup of remembered answers. */
  precedent?: DecisionContext['precedent']
  /** Replaces the opinion of the rules; it is asked until the signal aborts. */
  opinion?: DecisionContext['opinion']
  signal?: AbortSignal
}

export interface JudgedCall {
  assessment: Assessment
  decision: Decision
  /** What a person answered before, if it was looked up. */
  remembered?: PrecedentAdvice | undefined
}

/** Decides about a call as a session would. Nothing is run and nothing is remembered. */
export async function judgeExplained(
  call: ExplainedCall,
  {
    classifier,
    policy,
    attached,
    walled = false,
    moreRules,
    precedent,
    opinion = judgePermission,
    signal,
  }: JudgeCallDeps,
): Promise<JudgedCall> {
  const { tool, input, home, cwd, secrets, worktree } = call
  const project = resolveRealPath(call.project) ?? call.project
  const { safeDirectories, settings, rules } = policy
  const assessment = await classifier.classify({
    ...{ tool, input, project, home, safeDirectories, worktree },
    ...(cwd !== undefined && { cwd }),
    ...(secrets !== undefined && { secrets }),
  })
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
      opinion,
      precedent: precedent ?? recall,
      attached,
      walled,
    },
    signal ?? NEVER_ABORTED,
  )
  return { assessment, decision, remembered }
}

/**
 * What is decided about a call in the worktree of a task of this project, in a sandbox, and why nobody can allow it there if it is a call of
 * git that reaches out of it. Undefined for a project without a repository.
 */
export async function judgeInTask(
  call: ExplainedCall,
  deps: Pick<JudgeCallDeps, 'classifier' | 'policy'>,
): Promise<{ decision: Decision; refusal: string | undefined } | undefined> {
  const repository = (await findGitFolder(call.project))?.common
  if (repository === undefined) return undefined
  const top = resolveRealPath(call.project) ?? call.project
  const inWorktree = { ...call, worktree: { top, repository } }
  const { assessment, decision } = await judgeExplained(inWorktree, { ...deps, attached: false, walled: true })
  // Files are not compared: where the worktree will be is not known.
  return { decision, refusal: assessment.reasons.find(({ code }) => code === 'boundary.git')?.text }
}

/** The rule brain answers at once, so there is nothing to abort. */
const NEVER_ABORTED = new AbortController().signal

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
  /** What becomes of a HIGH call in an agent that the person started. */
  hooksHigh: 'deny' | 'ask'
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
  answers?: Pick<RememberedAnswers, 'find'>
}

const NO_ANSWERS = { find: async () => undefined }

/** Loads the settings and rules that are in force in a project, as a session there would have them. */
export async function loadProjectPolicy(location: PolicyLocation): Promise<ProjectPolicy> {
  const { paths, env, project, userFile, answers = NO_ANSWERS } = location
  const isDirectory = lookUp(project)?.isDirectory() === true
  // Trust is about files of the project: without one, its tree need not be looked through.
  const hasFiles = isDirectory && (await hasOwnFiles(location))
  const trusted = hasFiles ? trustedFile(await trustStatus(paths, project)) : () => false
  const inProject = isDirectory ? { project } : {}
  const { config } = await loadConfig({ paths, env, trusted, project: null, ...inProject })
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
    hooksHigh: config.hooks.high,
    ...(rules.problem && { problem: rules.problem }),
  }
}

async function hasOwnFiles({ paths, env, project }: PolicyLocation): Promise<boolean> {
  const home = env['HOME'] || homedir()
  return ((await findProjectFile(project, home)) ?? (await findProjectRules(paths, project))) !== undefined
}
