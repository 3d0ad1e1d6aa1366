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
