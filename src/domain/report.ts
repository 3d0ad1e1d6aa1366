import * as z from 'zod'
import { RunOutcome } from './attempt.ts'
import { PURPOSES } from './budget.ts'
import { Need } from './needs.ts'
import { QuotaWindow } from './quota.ts'
import { TaskView, Verification } from './task.ts'

/** A commit in the task's project that was made while an agent worked on the task. */
export const Commit = z.object({
  hash: z.string(),
  subject: z.string(),
  at: z.number(),
})
export type Commit = z.infer<typeof Commit>

export const ReportedTask = z.object({
  id: z.string(),
  title: z.string(),
  project: z.string(),
  feature: z.string().nullable(),
  session_id: z.string().nullable(),
  attempts: z.number(),
  /** How long agents worked on it. */
  worked_ms: z.number(),
  ended_at: z.number().nullable(),
  verification: Verification.nullable(),
  /** The agent's last message, or why it failed or does not continue. */
  note: z.string().nullable(),
  commits: z.array(Commit),
  /** Whether it is done without any change. */
  changed_nothing: z.boolean(),
})
export type ReportedTask = z.infer<typeof ReportedTask>

export const Spent = z.object({
  cost_usd: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  turns: z.number(),
  tool_calls: z.number(),
  /** How many sessions were started or resumed. */
  sessions: z.number(),
  /** How many of them ran without a sandbox: what their agents wrote and ran could do all that the person can. */
  unbounded: z.number(),
  worked_ms: z.number(),
  /** What tokens (without the cache) and money went to; verifiers and brains are in `cost_usd` and the tokens too. */
  by_purpose: z.record(z.enum(PURPOSES), z.object({ tokens: z.number(), cost_usd: z.number() })),
})
export type Spent = z.infer<typeof Spent>

/** Conversations of agents that you started yourself and that were open in the period, each with all that it did. */
export const ObservedWork = z.object({
  sessions: z.number(),
  calls: z.number(),
  denied: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  /** Of the conversations whose cost is known. */
  cost_usd: z.number(),
  /** Whether list prices are in it. */
  cost_estimated: z.boolean(),
  /** Conversations that used tokens at a price that is not known. */
  cost_unknown: z.number(),
})
export type ObservedWork = z.infer<typeof ObservedWork>

export const ReportedMemory = z.object({
  /** Sessions that ended in the period, and those from which memory has learned all. */
  sessions: z.number(),
  recorded: z.number(),
  /** How many of the phases of memory that were due in them ran, 0 to 1; null if none was due. */
  completeness: z.number().nullable(),
  /** Attempts that were shown something, and those that were not, to compare them. */
  shown: z.number(),
  held_back: z.number(),
  /** What recall is worth so far, of all times, as lines with intervals. */
  worth: z.array(z.string()),
})
export type ReportedMemory = z.infer<typeof ReportedMemory>

export const LimitsMet = z.object({
  hits: z.number(),
  /** How long work waited for a limit, by the clock: sessions that wait at the same time are counted once. */
  waited_ms: z.number(),
  /** The same for a login that was refused. */
  login_ms: z.number(),
  /** The same for an account without credit. */
  credit_ms: z.number(),
})
export type LimitsMet = z.infer<typeof LimitsMet>

export const ShownDecision = z.object({
  at: z.number(),
  session_id: z.string(),
  what: z.string(),
  verdict: z.enum(['allowed', 'refused', 'answered']),
  by: z.string(),
  why: z.string(),
})
export type ShownDecision = z.infer<typeof ShownDecision>

export const UnlistedPackage = z.object({
  name: z.string(),
  session_id: z.string(),
  at: z.number(),
})
export type UnlistedPackage = z.infer<typeof UnlistedPackage>

/** The decisions that were made without you. */
export const DecisionsTaken = z.object({
  allowed: z.number(),
  refused: z.number(),
  /** How many questions were answered. */
  answered: z.number(),
  /** How many decisions you made yourself meanwhile. */
  by_you: z.number(),
  /** The decisions worth reading, newest first: those that are not LOW, and every answer. */
  shown: z.array(ShownDecision),
  /** Packages that agents were allowed to install although no lock file named them, oldest first. */
  packages: z.array(UnlistedPackage),
})
export type DecisionsTaken = z.infer<typeof DecisionsTaken>

export const RefusedRequest = z.object({
  what: z.string(),
  /** Why, as the last refusal said. */
  why: z.string(),
  count: z.number(),
  /** The first time. */
  at: z.number(),
  session_id: z.string(),
  /** What a person types to allow it, while somebody needs it. */
  next: z.string().nullable(),
})
export type RefusedRequest = z.infer<typeof RefusedRequest>

export const ReportedRun = z.object({
  id: z.string(),
  target: z.string(),
  project: z.string(),
  outcome: RunOutcome.nullable(),
  reason: z.string().nullable(),
  started_at: z.number(),
  ended_at: z.number().nullable(),
})
export type ReportedRun = z.infer<typeof ReportedRun>

export const NotBegun = z.object({
  schedule_id: z.string(),
  target: z.string(),
  project: z.string(),
  due_at: z.number(),
  reason: z.string(),
})
export type NotBegun = z.infer<typeof NotBegun>

/** A period of work on a task, or of waiting. */
export const ReportedPeriod = z.object({
  task_id: z.string(),
  title: z.string(),
  from: z.number(),
  /** `until` of the report if it continues. */
  to: z.number(),
  as: z.enum(['done', 'failed', 'sent back', 'waiting', 'given back', 'at work']),
})
export type ReportedPeriod = z.infer<typeof ReportedPeriod>

/** What happened between two times, for a person who was away. Every number is counted from the events. */
export const Report = z.object({
  since: z.number(),
  until: z.number(),
  /** The project of the report; null for all. */
  project: z.string().nullable(),
  done: z.array(ReportedTask),
  failed: z.array(ReportedTask),
  /** Tasks that were started and are not over: running, queued again, or waiting. */
  unfinished: z.array(ReportedTask),
  /** What waits for a person when the report is made. */
  waiting: z.array(Need),
  spent: Spent,
  /** What hooks reported. */
  observed: ObservedWork,
  /** What memory did; null if it is switched off or cannot be used. */
  memory: ReportedMemory.nullable(),
  quota: z.array(
    z.object({
      account: z.string(),
      windows: z.array(QuotaWindow.pick({ window: true, utilization: true, resets_at: true, source: true })),
    }),
  ),
  limits: LimitsMet,
  decisions: DecisionsTaken,
  /** The requests that were refused without asking a person, one row for each request, oldest first; also those of tasks that are done. */
  refused: z.array(RefusedRequest),
  runs: z.array(ReportedRun),
  /** Scheduled runs that did not start. */
  not_begun: z.array(NotBegun),
  /** Attempts and waits, in the order in which they started. */
  timeline: z.array(ReportedPeriod),
  /** The tasks of the report and their dependencies, for the picture. */
  graph: z.array(TaskView),
})
export type Report = z.infer<typeof Report>
