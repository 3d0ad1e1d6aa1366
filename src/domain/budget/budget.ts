/** What is counted: rounds with the model, tokens (reading from the cache left out), money, and time at work. */
export const MEASURES = ['turns', 'tokens', 'cost_usd', 'wall_minutes'] as const
export type Measure = (typeof MEASURES)[number]

/** Of what it is counted: one task, one session, a calendar day of the whole data directory, a project since its last reset. */
export const BUDGET_SCOPES = ['task', 'session', 'day', 'project'] as const
export type BudgetScope = (typeof BUDGET_SCOPES)[number]

/** What was spent, or is about to be added to it. */
export type Amounts = Record<Measure, number>

/** The most that may be spent; what is absent has no bound. */
export type BudgetLimits = { readonly [M in Measure]?: number | undefined }

export type Budgets = Readonly<Record<BudgetScope, BudgetLimits>>

export const NOTHING_SPENT: Amounts = { turns: 0, tokens: 0, cost_usd: 0, wall_minutes: 0 }

/** One bound and how far it is used. */
export interface BudgetUse {
  scope: BudgetScope
  measure: Measure
  spent: number
  limit: number
}

/** GET /budget: what is spent and left, the nearest to its bound first. */
export interface BudgetView {
  at: number
  /** When the day's budgets are fresh again. */
  day_ends_at: number
  scopes: BudgetRow[]
}

/** One day, project, session or task. */
export interface BudgetRow {
  scope: BudgetScope
  /** `2026-11-15`, the project's directory, the session's or the task's id. */
  key: string
  /** What a person knows it by. */
  name: string
  spent: Amounts
  limits: BudgetLimits
  /** What happens at the bound, where there is one. */
  at_bound: string | null
}
