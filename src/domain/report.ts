import type { RunOutcome } from './attempt.ts'
import type { Need } from './needs.ts'
import type { QuotaWindow } from './quota.ts'
import type { TaskView, Verification } from './task.ts'

/** What happened between two times, for a person who was away. Every number is counted from the events. */
export interface Report {
  since: number
  until: number
  /** The project of the report; null for all. */
  project: string | null
  done: ReportedTask[]
  failed: ReportedTask[]
  /** Tasks that were started and are not over: running, queued again, or waiting. */
  unfinished: ReportedTask[]
  /** What waits for a person when the report is made. */
  waiting: Need[]
  spent: Spent
  /** What hooks reported. */
  observed: ObservedWork
  /** What memory did; null if it is switched off or cannot be used. */
  memory: ReportedMemory | null
  quota: { account: string; windows: Pick<QuotaWindow, 'window' | 'utilization' | 'resets_at' | 'source'>[] }[]
  limits: LimitsMet
  decisions: DecisionsTaken
  /** The requests that were refused without asking a person, one row for each request, oldest first; also those of tasks that are done. */
  refused: RefusedRequest[]
  runs: ReportedRun[]
  /** Scheduled runs that did not start. */
  not_begun: NotBegun[]
  /** Attempts and waits, in the order in which they started. */
  timeline: ReportedPeriod[]
  /** The tasks of the report and their dependencies, for the picture. */
  graph: TaskView[]
}

export interface ReportedTask {
  id: string
  title: string
  project: string
  feature: string | null
  session_id: string | null
  attempts: number
  /** How long agents worked on it. */
  worked_ms: number
  ended_at: number | null
  verification: Verification | null
  /** The agent's last message, or why it failed or does not continue. */
  note: string | null
  commits: Commit[]
  /** Whether it is done without any change. */
  changed_nothing: boolean
}

/** A commit in the task's project that was made while an agent worked on the task. */
export interface Commit {
  hash: string
  subject: string
  at: number
}

export interface Spent {
  cost_usd: number
  input_tokens: number
  output_tokens: number
  turns: number
  tool_calls: number
  /** How many sessions were started or resumed. */
  sessions: number
  /** How many of them ran without a sandbox: what their agents wrote and ran could do all that the person can. */
  unbounded: number
  worked_ms: number
}

/** Conversations of agents that you started yourself and that were open in the period, each with all that it did. */
export interface ObservedWork {
  sessions: number
  calls: number
  denied: number
  input_tokens: number
  output_tokens: number
}

export interface ReportedMemory {
  /** Sessions that ended in the period, and those from which memory has learned all. */
  sessions: number
  recorded: number
  /** How many of the phases of memory that were due in them ran, 0 to 1; null if none was due. */
  completeness: number | null
  /** Attempts that were shown something, and those that were not, to compare them. */
  shown: number
  held_back: number
  /** What recall is worth so far, of all times, as lines with intervals. */
  worth: string[]
}

export interface LimitsMet {
  hits: number
  /** How long sessions waited for a limit; parallel waits are added up. */
  waited_ms: number
}

/** The decisions that were made without you. */
export interface DecisionsTaken {
  allowed: number
  refused: number
  /** How many questions were answered. */
  answered: number
  /** How many decisions you made yourself meanwhile. */
  by_you: number
  /** The decisions worth reading, newest first: those that are not LOW, and every answer. */
  shown: ShownDecision[]
  /** Packages that agents were allowed to install although no lock file named them, oldest first. */
  packages: UnlistedPackage[]
}

export interface RefusedRequest {
  what: string
  /** Why, as the last refusal said. */
  why: string
  count: number
  /** The first time. */
  at: number
  session_id: string
  /** What a person types to allow it, while somebody needs it. */
  next: string | null
}

export interface UnlistedPackage {
  name: string
  session_id: string
  at: number
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

/** A period of work on a task, or of waiting. */
export interface ReportedPeriod {
  task_id: string
  title: string
  from: number
  /** `until` of the report if it continues. */
  to: number
  as: 'done' | 'failed' | 'waiting' | 'given back' | 'at work'
}
