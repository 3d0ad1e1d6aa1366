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

/** A budget as a person writes it, `5 usd, 2h, 200 turns, 3M tokens`, or what is wrong with it. */
export type ParsedBudget = { limits: BudgetLimits } | { problem: string }

/** Each unit, what it measures and how much of it one is. */
const UNITS: Record<string, { measure: Measure; each: number }> = {
  usd: { measure: 'cost_usd', each: 1 },
  dollar: { measure: 'cost_usd', each: 1 },
  dollars: { measure: 'cost_usd', each: 1 },
  $: { measure: 'cost_usd', each: 1 },
  m: { measure: 'wall_minutes', each: 1 },
  min: { measure: 'wall_minutes', each: 1 },
  minute: { measure: 'wall_minutes', each: 1 },
  minutes: { measure: 'wall_minutes', each: 1 },
  h: { measure: 'wall_minutes', each: 60 },
  hour: { measure: 'wall_minutes', each: 60 },
  hours: { measure: 'wall_minutes', each: 60 },
  d: { measure: 'wall_minutes', each: 1440 },
  day: { measure: 'wall_minutes', each: 1440 },
  days: { measure: 'wall_minutes', each: 1440 },
  turn: { measure: 'turns', each: 1 },
  turns: { measure: 'turns', each: 1 },
  token: { measure: 'tokens', each: 1 },
  tokens: { measure: 'tokens', each: 1 },
}

/** `3M tokens`, `250k tokens`: nobody counts zeros. */
const LARGE: Record<string, number> = { k: 1_000, M: 1_000_000 }

const NAMES: Record<Measure, string> = { turns: 'turns', tokens: 'tokens', cost_usd: 'money', wall_minutes: 'time' }

const EXAMPLE = 'as in "5 usd, 2h, 200 turns, 3M tokens"'

/** Reads a budget strictly: every part is an amount above zero with a unit, each measure is said once. */
export function parseBudget(text: string): ParsedBudget {
  const limits: Partial<Record<Measure, number>> = {}
  const parts = text.split(',').map(part => part.trim())
  if (parts.every(part => part === '')) return { problem: `a budget names amounts, ${EXAMPLE}` }
  for (const part of parts) {
    const read = readPart(part)
    if ('problem' in read) return read
    if (limits[read.measure] !== undefined) return { problem: `${NAMES[read.measure]} is said twice` }
    limits[read.measure] = read.amount
  }
  return { limits }
}

function readPart(part: string): { measure: Measure; amount: number } | { problem: string } {
  const found = /^(\$)?\s*([+-]?)(\d+(?:\.\d+)?|\.\d+)\s*([kM](?=\s*tokens?$))?\s*([a-z$]*)$/i.exec(part)
  if (!found) return { problem: unreadable(part) }
  const [, dollar, sign, digits, large = '', word = ''] = found
  const unit = UNITS[dollar && word === '' ? '$' : word.toLowerCase()]
  if (!unit || (dollar && unit.measure !== 'cost_usd')) return { problem: unitProblem(part) }
  const factor = large === '' ? 1 : (LARGE[large === 'K' ? 'k' : large.toUpperCase() === 'M' ? 'M' : large] ?? 1)
  const amount = Number(digits) * factor * unit.each
  const problem = amountProblem(part, { ...unit, amount, isNegative: sign === '-' })
  return problem === undefined ? { measure: unit.measure, amount } : { problem }
}

function amountProblem(
  part: string,
  { amount, measure, isNegative }: { amount: number; measure: Measure; isNegative: boolean },
): string | undefined {
  if (isNegative || amount === 0) return `"${part}" is no budget: it must be above zero`
  if (!Number.isFinite(amount) || amount > Number.MAX_SAFE_INTEGER) return `"${part}" is more than can be counted`
  const isWhole = measure === 'turns' || measure === 'tokens'
  if (isWhole && !Number.isSafeInteger(amount)) return `"${part}" must be a whole number of ${NAMES[measure]}`
  return undefined
}

function unreadable(part: string): string {
  if (/^[+-]?(nan|inf(inity)?|∞)\b/i.test(part)) return `"${part}" is no budget: it must be a number above zero`
  return part === '' ? `there is nothing between two commas; write it ${EXAMPLE}` : unitProblem(part)
}

function unitProblem(part: string): string {
  return `"${part}" is not an amount with a unit (usd, minutes, hours, days, turns, tokens), ${EXAMPLE}`
}

/** An amount as people say it: `4.20 usd`, `1 h 30 min`, `200 turns`, `3,000,000 tokens`. */
export function amountWords(measure: Measure, amount: number): string {
  switch (measure) {
    case 'cost_usd':
      return `${moneyDigits(amount)} usd`
    case 'wall_minutes':
      return timeWords(amount)
    case 'turns':
      return `${Math.round(amount).toLocaleString('en-US')} ${Math.round(amount) === 1 ? 'turn' : 'turns'}`
    case 'tokens':
      return `${Math.round(amount).toLocaleString('en-US')} tokens`
  }
}

/** An amount as `--budget` takes it. */
export function typedAmount(measure: Measure, amount: number): string {
  const unit = { cost_usd: 'usd', wall_minutes: 'minutes', turns: 'turns', tokens: 'tokens' }[measure]
  const digits = measure === 'cost_usd' ? Number(amount.toPrecision(6)) : Math.ceil(amount)
  return `${digits} ${unit}`
}

/** `the session's budget of 5.00 usd`. */
export function budgetWords({ scope, measure, limit }: Pick<BudgetUse, 'scope' | 'measure' | 'limit'>): string {
  return `${WHOSE[scope]} budget of ${amountWords(measure, limit)}`
}

const WHOSE: Record<BudgetScope, string> = {
  task: "the task's",
  session: "the session's",
  day: "the day's",
  project: "the project's",
}

/** Every amount that is not zero, with commas between. */
export function spentWords(amounts: Amounts): string {
  const words = (['cost_usd', 'tokens', 'turns', 'wall_minutes'] as const)
    .filter(measure => amounts[measure] > 0)
    .map(measure => amountWords(measure, amounts[measure]))
  return words.length === 0 ? 'nothing' : words.join(', ')
}

/** Cents, and below a cent enough digits to see that it is not nothing. */
function moneyDigits(usd: number): string {
  return usd !== 0 && Math.abs(usd) < 0.01 ? usd.toPrecision(1) : usd.toFixed(2)
}

function timeWords(minutes: number): string {
  if (minutes < 1) return minutes <= 0 ? '0 min' : `${Math.max(1, Math.round(minutes * 60))} s`
  const whole = Math.round(minutes)
  const hours = Math.floor(whole / 60)
  if (hours === 0) return `${whole} min`
  return whole % 60 === 0 ? `${hours} h` : `${hours} h ${whole % 60} min`
}
