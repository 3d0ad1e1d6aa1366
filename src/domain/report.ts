import type { RunOutcome } from './attempt.ts'
import type { QuotaWindow } from './quota.ts'
import type { TaskView, Verification } from './task.ts'

/** What happened between two moments, for a person who was not there. Every number is counted from the events. */
export interface Report {
  since: number
  until: number
  /** Only of this project; null for all. */
  project: string | null
  done: ReportedTask[]
  failed: ReportedTask[]
  /** Begun and not over: at work, in line again, or waiting for something. */
  unfinished: ReportedTask[]
  waiting: WaitingForYou[]
  spent: Spent
  quota: { account: string; windows: Pick<QuotaWindow, 'window' | 'utilization' | 'resets_at' | 'source'>[] }[]
  limits: LimitsMet
  decisions: DecisionsTaken
  runs: ReportedRun[]
  /** Runs that were to begin by themselves and did not. */
  not_begun: NotBegun[]
  /** Attempts and waits, in the order in which they began. */
  timeline: ReportedPeriod[]
  /** The tasks that the report is about with what they hang on, for the picture. */
  graph: TaskView[]
}

export interface ReportedTask {
  id: string
  title: string
  project: string
  feature: string | null
  session_id: string | null
  attempts: number
  /** Time in which somebody worked on it. */
  worked_ms: number
  ended_at: number | null
  verification: Verification | null
  /** The agent's last words, or why it failed or does not go on. */
  note: string | null
  commits: Commit[]
}

/** A commit in the task's project that was made while somebody worked on the task. */
export interface Commit {
  hash: string
  subject: string
  at: number
}

/** Something that only a person can move. */
export interface WaitingForYou {
  kind: 'decision' | 'session' | 'task'
  text: string
  /** The command that moves it. */
  next: string
  since: number | null
}

export interface Spent {
  cost_usd: number
  input_tokens: number
  output_tokens: number
  turns: number
  tool_calls: number
  /** Sessions whose agent was started or went on. */
  sessions: number
  worked_ms: number
}

export interface LimitsMet {
  hits: number
  /** Time for which sessions stood still for a limit, those side by side counted each. */
  waited_ms: number
}

/** What was decided without you. */
export interface DecisionsTaken {
  allowed: number
  refused: number
  /** Questions that were answered. */
  answered: number
  /** What you decided yourself meanwhile. */
  by_you: number
  /** Of those the ones worth a look, newest first: whatever is not LOW, and every answer. */
  shown: ShownDecision[]
}

export interface ShownDecision {
  at: number
  session_id: string
  what: string
  verdict: 'allowed' | 'refused' | 'answered'
  by: string
  why: string
}

export interface ReportedRun {
  id: string
  target: string
  project: string
  outcome: RunOutcome | null
  reason: string | null
  started_at: number
  ended_at: number | null
}

export interface NotBegun {
  schedule_id: string
  target: string
  project: string
  due_at: number
  reason: string
}

/** A piece of time: of work on a task, or of waiting. */
export interface ReportedPeriod {
  task_id: string
  title: string
  from: number
  /** `until` of the report where it goes on. */
  to: number
  as: 'done' | 'failed' | 'waiting' | 'given back' | 'at work'
}
