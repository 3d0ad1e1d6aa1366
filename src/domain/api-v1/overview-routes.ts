import * as z from 'zod'
import { isZone, PAST_TIMES } from '../../base/clock.ts'
import { JournalEntry } from '../attempt.ts'
import { BUDGET_SCOPES, type BudgetView, MEASURES, PURPOSES } from '../budget.ts'
import { AnswerEscalation, EscalationState, EscalationView, TaskAfterAnswer } from '../escalation.ts'
import { MergeView } from '../merge.ts'
import { Needs } from '../needs.ts'
import { HoldQuota, QuotaView, ReleaseQuota } from '../quota.ts'
import { Report } from '../report.ts'
import { TaskCounts } from '../run.ts'
import { Risk, StoredReason } from '../session.ts'
import { WorktreeForecast, WorktreeView } from '../worktree.ts'
import { type ApiRoute, Paging, Project, pageOf, Ref } from './route.ts'

const Amount = z.number()
const Budget = z.object({
  at: z.number(),
  day_ends_at: z.number(),
  scopes: z.array(
    z.object({
      scope: z.enum(BUDGET_SCOPES),
      key: z.string(),
      name: z.string(),
      spent: z.record(z.enum(MEASURES), Amount),
      by_purpose: z.record(z.enum(PURPOSES), z.object({ tokens: Amount, cost_usd: Amount })),
      limits: z.partialRecord(z.enum(MEASURES), Amount.optional()),
      at_bound: z.string().nullable(),
    }),
  ),
}) satisfies z.ZodType<BudgetView>

/** A rule that a person wrote, with its file and line. */
const Rule = z.object({
  number: z.number(),
  scope: z.enum(['user', 'project']),
  effect: z.enum(['allow', 'ask', 'deny']),
  tool: z.string(),
  match: z.string().optional(),
  file: z.string(),
  line: z.number(),
  /** False while a rule of the project waits for `pcc trust`. */
  in_force: z.boolean(),
})

/** How a call would be decided. */
const Explanation = z.object({
  tool: z.string(),
  project: z.string(),
  normalised: z.string(),
  risk: Risk,
  verdict: z.enum(['allow', 'deny', 'ask']),
  confidence: z.number(),
  by: z.string(),
  reason: z.string(),
  /** How it would be decided with a person at the terminal. */
  attached: z.object({ verdict: z.enum(['allow', 'deny', 'ask']), by: z.string() }),
  reasons: z.array(StoredReason),
})

/** A directory that pcc works in. */
const ProjectView = z.object({
  project: z.string(),
  tasks: TaskCounts,
  sessions: z.number(),
  /** Runs that have not ended. */
  open_runs: z.number(),
  /** When a session or a run began there last; null if none did. */
  last_at: z.number().nullable(),
})

/** A machine that runs a daemon. */
const SystemView = z.object({
  name: z.string(),
  version: z.string(),
  status: z.enum(['ok', 'stopping']),
  started_at: z.number(),
  sessions: z.object({ live: z.number(), total: z.number() }),
})

const decision = {
  noun: 'Decisions',
  reach: 'found',
  params: z.object({ number: z.string().regex(/^[1-9]\d{0,8}$/) }),
} as const
const ofTask = z.object({ task: Ref })
const worktree = {
  noun: 'Worktrees',
  reach: 'found',
  params: ofTask,
  method: 'POST',
  creates: false,
  scope: 'work',
  guardedBy: 'readWorktree',
} as const
const merge = { noun: 'Merges', reach: 'found', params: z.object({ merge: Ref }) } as const
const orderMerge = { ...merge, method: 'POST', creates: false, scope: 'work', guardedBy: 'readMerge' } as const
const InProject = z.strictObject({ project: Project.optional() })

export const OVERVIEW_ROUTES = {
  listEscalations: {
    method: 'GET',
    path: '/escalations',
    noun: 'Decisions',
    scope: 'read',
    summary:
      'List decisions that wait, or waited, for a person, in the order of their numbers. `state` is `open` by default.',
    reach: 'query',
    query: InProject.extend({
      state: EscalationState.or(z.literal('all')).default('open'),
      session: Ref.optional(),
      ...Paging,
    }),
    reply: pageOf(EscalationView),
  },
  readEscalation: {
    ...decision,
    method: 'GET',
    path: '/escalations/{number}',
    scope: 'read',
    summary: 'Read a decision.',
    reply: EscalationView,
    versioned: true,
  },
  answerEscalation: {
    ...decision,
    method: 'POST',
    creates: false,
    path: '/escalations/{number}/answer',
    scope: 'decide',
    summary: 'Answer a decision. The answer is recorded under the name of the key.',
    body: AnswerEscalation.pick({ verdict: true, answer: true, reason: true, always: true, again: true }),
    reply: z.object({ escalation: EscalationView, remembered: z.boolean(), task: TaskAfterAnswer.optional() }),
    guardedBy: 'readEscalation',
  },
  listNeeds: {
    method: 'GET',
    path: '/needs',
    noun: 'Decisions',
    scope: 'read',
    summary: 'List everything that waits for a person, the most urgent first.',
    reach: 'query',
    query: InProject,
    reply: Needs,
  },
  listRules: {
    method: 'GET',
    path: '/rules',
    noun: 'Rules',
    scope: 'read',
    summary: 'List the rules of a project and those of the person, and what is wrong with them.',
    reach: 'query',
    query: InProject,
    reply: z.object({ rules: z.array(Rule), problem: z.object({ code: z.string(), message: z.string() }).nullable() }),
  },
  explainCall: {
    method: 'POST',
    path: '/rules/explain',
    noun: 'Rules',
    scope: 'read',
    summary: 'Say how a tool call would be decided in a project. Nothing runs.',
    reach: 'body',
    body: z.strictObject({
      project: Project.optional(),
      tool: z.string().min(1).max(200),
      input: z.record(z.string().max(200), z.unknown()),
    }),
    reply: Explanation,
    readOnly: true,
    maxBytes: 100_000,
  },
  readQuota: {
    method: 'GET',
    path: '/quota',
    noun: 'Quota and budgets',
    scope: 'read',
    summary: 'Read how full the accounts are and who waits for them.',
    reach: 'whole',
    reply: QuotaView,
    versioned: ['at'],
  },
  holdQuota: {
    method: 'POST',
    creates: false,
    path: '/quota/hold',
    noun: 'Quota and budgets',
    scope: 'decide',
    summary: 'Hold an account back, or all.',
    reach: 'whole',
    body: HoldQuota.default({}),
    reply: QuotaView,
    guardedBy: 'readQuota',
  },
  releaseQuota: {
    method: 'POST',
    creates: false,
    path: '/quota/release',
    noun: 'Quota and budgets',
    scope: 'decide',
    summary: 'Release an account, or all; with `now` also one that a limit has closed.',
    reach: 'whole',
    body: ReleaseQuota.default({}),
    reply: QuotaView,
    guardedBy: 'readQuota',
  },
  readBudgets: {
    method: 'GET',
    path: '/budgets',
    noun: 'Quota and budgets',
    scope: 'read',
    summary: 'Read what is spent and what is left.',
    reach: 'query',
    query: InProject,
    reply: Budget,
    versioned: ['at'],
  },
  resetBudget: {
    method: 'POST',
    creates: false,
    path: '/budgets/reset',
    noun: 'Quota and budgets',
    scope: 'decide',
    summary: 'Let the budget of a project count from zero again.',
    reach: 'body',
    body: InProject,
    reply: Budget,
    guardedBy: 'readBudgets',
  },
  listWorktrees: {
    method: 'GET',
    path: '/worktrees',
    noun: 'Worktrees',
    scope: 'read',
    summary: 'List the worktrees that exist; with `all=true` also those that are gone.',
    reach: 'query',
    query: InProject.extend({ all: z.enum(['true']).optional(), ...Paging }),
    reply: pageOf(WorktreeView),
  },
  readWorktree: {
    method: 'GET',
    path: '/worktrees/{task}',
    noun: 'Worktrees',
    scope: 'read',
    summary: 'Read the worktrees of a task, and what removing the current one would do.',
    reach: 'found',
    params: ofTask,
    reply: z.object({ worktrees: z.array(WorktreeView), forecast: WorktreeForecast.nullable() }),
    versioned: true,
  },
  archiveWorktree: {
    ...worktree,
    path: '/worktrees/{task}/archive',
    summary: 'Archive the work of a worktree in a ref and remove it.',
    reply: z.object({ done: z.literal(true) }),
  },
  restoreWorktree: {
    ...worktree,
    path: '/worktrees/{task}/restore',
    summary: 'Restore an archived worktree.',
    reply: z.object({ done: z.literal(true) }),
  },
  listMerges: {
    method: 'GET',
    path: '/merges',
    noun: 'Merges',
    scope: 'read',
    summary: 'List the merges that are not over; with `all=true` the newest hundred.',
    reach: 'query',
    query: InProject.extend({ all: z.enum(['true']).optional(), ...Paging }),
    reply: pageOf(MergeView),
  },
  readMerge: {
    ...merge,
    method: 'GET',
    path: '/merges/{merge}',
    scope: 'read',
    summary: 'Read a merge.',
    reply: MergeView,
    versioned: true,
  },
  retryMerge: { ...orderMerge, path: '/merges/{merge}/retry', summary: 'Try a merge again.', reply: MergeView },
  abortMerge: { ...orderMerge, path: '/merges/{merge}/abort', summary: 'Call a merge off.', reply: MergeView },
  readReport: {
    method: 'GET',
    path: '/report',
    noun: 'Overview',
    scope: 'read',
    summary: `Read what happened since a time: ${PAST_TIMES}.`,
    reach: 'query',
    query: InProject.extend({
      since: z.string().trim().min(1).max(100),
      until: z.string().trim().min(1).max(100).optional(),
      zone: z.string().max(100).refine(isZone, 'it is no time zone of this machine').default('UTC'),
    }),
    reply: Report,
  },
  listJournal: {
    method: 'GET',
    path: '/journal',
    noun: 'Overview',
    scope: 'read',
    summary: 'List finished attempts, newest first; with `words` the best matches.',
    reach: 'query',
    query: InProject.extend({
      words: z.string().max(1_000).optional(),
      task: Ref.optional(),
      run: Ref.optional(),
      limit: z.coerce.number().int().min(1).max(1_000).default(20),
    }),
    reply: z.object({ entries: z.array(JournalEntry), total: z.number() }),
  },
  listProjects: {
    method: 'GET',
    path: '/projects',
    noun: 'Overview',
    scope: 'read',
    summary: 'List the projects that have tasks, sessions or runs.',
    reach: 'query',
    query: InProject.extend(Paging),
    reply: pageOf(ProjectView),
  },
  listSystems: {
    method: 'GET',
    path: '/systems',
    noun: 'Overview',
    scope: 'read',
    summary: 'List the machines that run a daemon: this one.',
    reach: 'whole',
    reply: z.object({ systems: z.array(SystemView) }),
  },
} as const satisfies Record<string, ApiRoute>
