import * as z from 'zod'

/**
 * `command` runs a program of the project; `regression` compares its tests with those at the base; `diff` checks the
 * changes; `plan` checks what the agent left open; `acceptance` checks each criterion; `verifier` and `second-opinion` are agents.
 */
const GATE_KINDS = ['command', 'regression', 'diff', 'plan', 'acceptance', 'verifier', 'second-opinion'] as const

/**
 * `flaky`: failed, and passed when run once more alone; it counts as passed, but is shown. `skipped`: there was nothing to
 * check, or the profile leaves it out. `broken`: the gate itself could not run, which does not count as passed. `review`: only a
 * person can say whether what it found is right.
 */
export const GateStatus = z.enum(['passed', 'failed', 'flaky', 'skipped', 'broken', 'review'])
export type GateStatus = z.infer<typeof GateStatus>

/** What each status means for the work. A review decides by its findings, which a person accepts. A new status has to be placed here. */
const COUNTS_AS: Record<GateStatus, 'passed' | 'failed' | 'broken' | 'nothing'> = {
  passed: 'passed',
  flaky: 'passed',
  failed: 'failed',
  broken: 'broken',
  skipped: 'nothing',
  review: 'nothing',
}

type WithStatus = Pick<Evidence, 'status'>

export function hasPassed(check: WithStatus): boolean {
  return COUNTS_AS[check.status] === 'passed'
}

export function hasFailed(check: WithStatus): boolean {
  return COUNTS_AS[check.status] === 'failed'
}

/** Whether the gate itself could not run. */
export function isBroken(check: WithStatus): boolean {
  return COUNTS_AS[check.status] === 'broken'
}

/** One test as its runner reported it. */
export const TestResult = z.object({
  /** File and title, as stable as the runner allows. */
  name: z.string(),
  status: z.enum(['passed', 'failed', 'skipped', 'flaky']),
})
export type TestResult = z.infer<typeof TestResult>

/** Something that prevents a task from being done, or that a person should know. */
export const Finding = z.object({
  /** A short stable name: `test.deleted`, `diff.secret`, `lint.disabled`. */
  code: z.string(),
  /** `block` keeps the task from being done; `review` does until a person accepts it; `note` is shown. */
  weight: z.enum(['block', 'review', 'note']),
  /** The finding as a sentence. */
  text: z.string(),
  file: z.string().optional(),
  line: z.number().int().positive().optional(),
})
export type Finding = z.infer<typeof Finding>

/** The result of one gate, bound to a git tree. */
export const Evidence = z.object({
  id: z.number(),
  task_id: z.string(),
  attempt: z.number(),
  /** The number of the verification within the attempt, from 1. */
  round: z.number(),
  /** `test`, `build`, `diff`, `verifier` … */
  gate: z.string(),
  kind: z.enum(GATE_KINDS),
  status: GateStatus,
  /** The git tree that was checked; null without git. */
  tree: z.string().nullable(),
  /** The command line, for commands. */
  command: z.string().nullable(),
  exit: z.number().nullable(),
  duration_ms: z.number(),
  /** The end of the output, with secrets removed. */
  output: z.string(),
  findings: z.array(Finding),
  /** The single tests; null if the runner does not report them. */
  tests: z.array(TestResult).nullable(),
  /** Whether the result is reused from an earlier successful run on the same tree. */
  cached: z.boolean(),
  created_at: z.number(),
})
export type Evidence = z.infer<typeof Evidence>

export type NewEvidence = Omit<Evidence, 'id'>

/** The result of a verification. `broken`: a gate could not run at all, and a person has to check why. */
export interface VerificationResult {
  status: 'passed' | 'failed' | 'broken'
  /** Whether anything besides the diff was checked that could have failed: commands, a verifier. */
  isProven: boolean
  /** The verified commit. */
  commit: string | null
  tree: string | null
  checks: NewEvidence[]
  findings: Finding[]
  /** What has to be done, as text for the agent. */
  next_steps: string[]
  /** What a person has to accept before work that passed on top of its target is merged. */
  concerns?: Concerns | undefined
}

/** A question to a person about work that passed its gates. */
export interface Concerns {
  /** What they have to accept. */
  concerns: readonly string[]
  /** The same in words, with what to type. */
  why: string
  /** Whether the question goes away when commands are set that check the work. */
  untilChecked: boolean
  /** What failed before the work too, if the question goes away when the settings let that pass. */
  untilAllowed?: string | undefined
  /** What a person types so that the work is checked, if nothing else is asked. It is the same for all work of the project. */
  fix?: string | undefined
}

/**
 * Whether a check has passed that bad work would have failed: a command (unless nothing was changed), or an agent that has
 * read the work.
 */
export function isProvenBy(checks: readonly Pick<Evidence, 'kind' | 'status' | 'findings'>[]): boolean {
  const isEmpty = isEmptyDiff(checks)
  return checks.some(check => {
    const { kind } = check
    const proves = kind === 'verifier' || kind === 'second-opinion' || (kind === 'command' && !isEmpty)
    return proves && hasPassed(check)
  })
}

/** Whether the work that was checked changed nothing. */
export function isEmptyDiff(checks: readonly Pick<Evidence, 'findings'>[]): boolean {
  return checks.some(({ findings }) => findings.some(({ code }) => code === 'diff.empty'))
}

/** The concern about work of which nothing shows that it does what was asked. */
export const UNPROVEN = 'unproven'

/** What a person has to accept before work that passed its gates counts: that nothing proves it, and each finding for a review. */
export function concernsAbout({ isProven, findings }: Pick<VerificationResult, 'isProven' | 'findings'>): string[] {
  const reviewed = findings.filter(({ weight }) => weight === 'review').map(({ code, text }) => `${code}: ${text}`)
  return [...(isProven ? [] : [UNPROVEN]), ...reviewed]
}

/** The code of tests that fail now and failed before the work. Weighed as a review, it says that nothing else of the command fails. */
export const FAILED_BEFORE = 'test.failed_before'

/** The only thing that keeps work from passing, if that failed before the work too; undefined if anything else fails or cannot run. */
export function findFailedBefore(checks: readonly Pick<Evidence, 'status' | 'findings'>[]): Finding | undefined {
  const [first, ...others] = checks.filter(check => hasFailed(check) || isBroken(check))
  if (others.length > 0) return undefined
  return first?.findings.find(({ code, weight }) => code === FAILED_BEFORE && weight === 'review')
}

/** GET /tasks/:ref/gates */
export interface TaskGates {
  id: string
  title: string
  project: string
  /** Where the task works: its worktree, or the project itself. */
  directory: string
  /** The results of the last verification; empty if there was none. */
  evidence: Evidence[]
}

/** What a verifying agent gets to judge an attempt's work. */
export interface VerifierMaterial {
  /** The directory of the work; nothing in it may change during the verification. */
  directory: string
  task: { id: string; title: string; description: string; acceptance: readonly string[] }
  /** The commits before and after the work; null without git. */
  base: string | null
  head: string | null
  /** The output of git diff, cut to a maximum length; empty if there is none. */
  diff: string
  /** The number of changed files and lines in the whole diff. */
  size: { files: number; lines: number }
  /** The results of the earlier gates. */
  checks: readonly NewEvidence[]
}

/** The verifier's opinion on one criterion. */
export const CriterionOpinion = z.object({
  criterion: z.string(),
  met: z.boolean(),
  /** The reason, with what it checked. */
  reason: z.string(),
})
export type CriterionOpinion = z.infer<typeof CriterionOpinion>

/** `broken`: the verifier gave no usable opinion, which does not count as passed. */
export interface VerifierOpinion {
  status: 'passed' | 'failed' | 'broken'
  criteria: CriterionOpinion[]
  /** Further remarks, for the person and for the agent that did the work. */
  remarks: string
  model: string | null
  cost_usd: number
}

/** How far the work of a session has come since its agent called it done. It is stored in the session's row, so that it survives a restart. */
export interface CompletionProgress {
  /** The number of the last verification. */
  verified: number
  /** How often a failed verification went back to its conversation. */
  failed: number
  /** How often a merge conflict went back to its conversation. */
  conflicts: number
  /** How often the work went back to its conversation for any reason: an answer about it counts until then. */
  returned?: number | undefined
  /** How often it went back after it was done, because of a review or a check of its pull request. */
  outside?: number | undefined
  /** The commit as which it was merged outside: nothing goes back any more. */
  landed?: string | undefined
  /** The concerns about the work, as its agent left it, that a person has accepted. */
  accepted?: readonly string[] | undefined
  /** The git tree that went back because it did not pass. */
  returned_tree?: string | undefined
  /** What its agent is told when it resumes; removed once the model has answered. */
  told?: string | undefined
}

/** The progress of a session whose work has not been verified yet. */
export const NO_COMPLETION_PROGRESS: CompletionProgress = { verified: 0, failed: 0, conflicts: 0 }
