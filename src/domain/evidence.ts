import * as z from 'zod'

/**
 * `command` runs a program of the project; `regression` compares its tests with those at the base; `diff` looks at what was
 * changed; `plan` at what the agent left open; `acceptance` at each criterion; `verifier` and `second-opinion` are agents.
 */
export const GATE_KINDS = ['command', 'regression', 'diff', 'plan', 'acceptance', 'verifier', 'second-opinion'] as const
export type GateKind = (typeof GATE_KINDS)[number]

/**
 * `flaky`: failed, and passed when it was tried once more alone; it counts as passed and is not hidden. `skipped`: there was
 * nothing to check, or the profile leaves it out. `broken`: the gate itself could not run, which is nobody's success.
 */
export const GateStatus = z.enum(['passed', 'failed', 'flaky', 'skipped', 'broken'])
export type GateStatus = z.infer<typeof GateStatus>

/** One test as its runner told it. */
export const TestResult = z.object({
  /** File and title, as stable as the runner lets it be. */
  name: z.string(),
  status: z.enum(['passed', 'failed', 'skipped', 'flaky']),
})
export type TestResult = z.infer<typeof TestResult>

/** Something that stands in the way of done, or that a person should know. */
export const Finding = z.object({
  /** A short stable name: `test.deleted`, `diff.secret`, `lint.disabled`. */
  code: z.string(),
  /** `block` keeps the task from being done; `note` is shown. */
  weight: z.enum(['block', 'note']),
  /** What was seen, in a sentence. */
  text: z.string(),
  file: z.string().optional(),
  line: z.number().int().positive().optional(),
})
export type Finding = z.infer<typeof Finding>

/** What one gate saw, bound to a tree. */
export interface Evidence {
  id: number
  task_id: string
  attempt: number
  /** Which verification of the attempt it belongs to, from 1 on. */
  round: number
  /** `test`, `build`, `diff`, `verifier` … */
  gate: string
  kind: GateKind
  status: GateStatus
  /** The git tree that was looked at; null where there is no git. */
  tree: string | null
  /** What was run, for commands. */
  command: string | null
  exit: number | null
  duration_ms: number
  /** The end of what it printed, with secrets taken out. */
  output: string
  findings: Finding[]
  /** Null where the runner tells no single tests: whole command only. */
  tests: TestResult[] | null
  /** It had run on the same tree before, green. */
  cached: boolean
  created_at: number
}

export type NewEvidence = Omit<Evidence, 'id'>

/** How a verification ended. `broken`: a gate could not run at all, and a person has to look. */
export interface VerificationResult {
  status: 'passed' | 'failed' | 'broken'
  /** Whether anything was checked that could have failed beside the diff: commands, a verifier. */
  isProven: boolean
  /** What was verified. */
  commit: string | null
  tree: string | null
  checks: NewEvidence[]
  findings: Finding[]
  /** What is to be done, in the words that go back to the agent. */
  next_steps: string[]
}

/**
 * Whether something could have failed because of the work and did not: a command, unless nothing was changed that it could have
 * failed by, or an agent that has read it.
 */
export function isProvenBy(checks: readonly Pick<Evidence, 'kind' | 'status' | 'findings'>[]): boolean {
  const isEmpty = checks.some(({ findings }) => findings.some(({ code }) => code === 'diff.empty'))
  return checks.some(({ kind, status }) => {
    const proves = kind === 'verifier' || kind === 'second-opinion' || (kind === 'command' && !isEmpty)
    return proves && (status === 'passed' || status === 'flaky')
  })
}

/** GET /tasks/:ref/gates */
export interface TaskGates {
  id: string
  title: string
  project: string
  /** Where it works: its worktree, or the project itself. */
  directory: string
  /** What the gates saw of it the last time; empty where nobody has looked. */
  evidence: Evidence[]
}

/** What a reading agent is given to judge an attempt's work by. */
export interface VerifierMaterial {
  /** Where the work lies; nothing in it may change while it is judged. */
  directory: string
  task: { id: string; title: string; description: string; acceptance: readonly string[] }
  /** The commits between which the work lies; null where there is no git. */
  base: string | null
  head: string | null
  /** As git tells it, already cut to a bound; empty where there is none. */
  diff: string
  /** Files and lines that were changed, of the whole diff. */
  size: { files: number; lines: number }
  /** What the gates before it saw. */
  checks: readonly NewEvidence[]
}

/** What it thinks of one criterion. */
export const CriterionOpinion = z.object({
  criterion: z.string(),
  met: z.boolean(),
  /** Why, with what it looked at. */
  reason: z.string(),
})
export type CriterionOpinion = z.infer<typeof CriterionOpinion>

/** `broken`: it gave no opinion that can be used, which is nobody's success. */
export interface VerifierOpinion {
  status: 'passed' | 'failed' | 'broken'
  criteria: CriterionOpinion[]
  /** What else it has to say, for the person and for the agent whose work it is. */
  remarks: string
  model: string | null
  cost_usd: number
}

/** How far the work of a session is on its way to done. It stands in the session's row, so that a restart knows it. */
export interface CompletionProgress {
  /** Verifications so far: the number of the last one. */
  verified: number
  /** How often its conversation got a failed verification back. */
  failed: number
  /** The same of conflicts with what others landed meanwhile. */
  conflicts: number
  /** What its agent is told when it goes on; gone once the model has answered to it. */
  told?: string | undefined
}

/** Of a session whose work nobody has looked at. */
export const NO_COMPLETION_PROGRESS: CompletionProgress = { verified: 0, failed: 0, conflicts: 0 }
