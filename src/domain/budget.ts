/** What is measured, in the order in which people are told: money, tokens (without cache reads), rounds with the model, and working time. */
export const MEASURES = ['cost_usd', 'tokens', 'turns', 'wall_minutes'] as const
export type Measure = (typeof MEASURES)[number]

/** What a budget is for: one task, one session, a calendar day of the whole data directory, or a project since its last reset. */
export const BUDGET_SCOPES = ['task', 'session', 'day', 'project'] as const
export type BudgetScope = (typeof BUDGET_SCOPES)[number]

/** Amounts that were spent. */
export type Amounts = Record<Measure, number>

/** Spending limits; an absent measure is unlimited. */
export type BudgetLimits = { readonly [M in Measure]?: number | undefined }

export type Budgets = Readonly<Record<BudgetScope, BudgetLimits>>

/**
 * What tokens and money go to. `retries`: later attempts at a task, and work that came back from a check or a merge. `limits`: the first
 * answer after a limit, for which the whole conversation is sent again. `work` is all the rest.
 */
export const PURPOSES = ['work', 'verifier', 'brain', 'retries', 'limits'] as const
export type Purpose = (typeof PURPOSES)[number]

export type PurposeAmounts = Pick<Amounts, 'tokens' | 'cost_usd'>
export type SpentByPurpose = Record<Purpose, PurposeAmounts>

const PURPOSE_WORDS: Record<Purpose, string> = {
  work: 'work',
  verifier: 'verifier',
  brain: 'brain',
  retries: 'retries',
  limits: 'lost to limits',
}

/** What was spent, by purpose: the given parts, and the rest as work. */
export function spentByPurpose(whole: PurposeAmounts, parts: Partial<SpentByPurpose>): SpentByPurpose {
  const spent = Object.fromEntries(
    PURPOSES.map((purpose): [Purpose, PurposeAmounts] => [purpose, parts[purpose] ?? { tokens: 0, cost_usd: 0 }]),
  ) as SpentByPurpose
  const others = PURPOSES.filter(purpose => purpose !== 'work').map(purpose => spent[purpose])
  const rest = (name: keyof PurposeAmounts) =>
    Math.max(
      0,
      others.reduce((left, amounts) => left - amounts[name], whole[name]),
    )
  return { ...spent, work: { tokens: rest('tokens'), cost_usd: rest('cost_usd') } }
}

/**
 * Divides what one agent uses by purpose. Agents report money later than tokens, so money is divided as the tokens are that were
 * reported since money last came.
 */
export class PurposeSplit {
  #unpaid: Partial<Record<Purpose, number>> = {}

  split({ tokens, cost_usd }: PurposeAmounts, purpose: Purpose): Partial<SpentByPurpose> {
    this.#unpaid[purpose] = Math.max(0, (this.#unpaid[purpose] ?? 0) + tokens)
    const parts: Partial<SpentByPurpose> = { [purpose]: { tokens, cost_usd } }
    const unpaid = PURPOSES.reduce((sum, each) => sum + (this.#unpaid[each] ?? 0), 0)
    if (cost_usd === 0 || unpaid === 0) return parts
    for (const each of PURPOSES) {
      const share = (this.#unpaid[each] ?? 0) / unpaid
      if (share > 0 || each === purpose)
        parts[each] = { tokens: each === purpose ? tokens : 0, cost_usd: cost_usd * share }
    }
    this.#unpaid = {}
    return parts
  }
}

export function eachMeasure(value: (measure: Measure) => number): Amounts {
  return Object.fromEntries(MEASURES.map(measure => [measure, value(measure)])) as Amounts
}

export const NOTHING_SPENT: Amounts = eachMeasure(() => 0)

/** One limit and how much of it is used. */
export interface BudgetUse {
  scope: BudgetScope
  measure: Measure
  spent: number
  limit: number
}

/** GET /budget: spending and limits, the one nearest to its limit first. */
export interface BudgetView {
  at: number
  /** When the daily budgets start again. */
  day_ends_at: number
  scopes: BudgetRow[]
}

/** One day, project, session or task. */
export interface BudgetRow {
  scope: BudgetScope
  /** `2026-11-15`, the project's directory, the session's or the task's id. */
  key: string
  /** The name that people see. */
  name: string
  spent: Amounts
  /** Tokens and money of `spent`, by what they went to. */
  by_purpose: SpentByPurpose
  limits: BudgetLimits
  /** What happens at the limit, if there is one. */
  at_bound: string | null
}

/** The parsed form of `5 usd, 2h, 200 turns, 3M tokens`, or what is wrong with the text. */
export type ParsedBudget = { limits: BudgetLimits } | { problem: string }

interface Unit {
  /** Messages and budgets that pcc writes use the first. */
  names: readonly [string, ...string[]]
  factor: number
}

/** The units in which people give each measure. */
const UNITS: Record<Measure, readonly [Unit, ...Unit[]]> = {
  cost_usd: [{ names: ['usd', 'dollars', 'dollar', '$'], factor: 1 }],
  tokens: [{ names: ['tokens', 'token'], factor: 1 }],
  turns: [{ names: ['turns', 'turn'], factor: 1 }],
  wall_minutes: [
    { names: ['minutes', 'minute', 'min', 'm'], factor: 1 },
    { names: ['hours', 'hour', 'h'], factor: 60 },
    { names: ['days', 'day', 'd'], factor: 1440 },
  ],
}

function findUnit(name: string): { measure: Measure; factor: number } | undefined {
  for (const measure of MEASURES)
    for (const { names, factor } of UNITS[measure]) if (names.includes(name)) return { measure, factor }
  return undefined
}

/** The suffixes in `3M tokens` and `250k tokens`. */
const MULTIPLIERS: Record<string, number> = { k: 1_000, M: 1_000_000 }

const NAMES: Record<Measure, string> = { turns: 'turns', tokens: 'tokens', cost_usd: 'money', wall_minutes: 'time' }

const EXAMPLE = 'as in "5 usd, 2h, 200 turns, 3M tokens"'

/** Parses a budget strictly: every part is an amount above zero with a unit, and each measure occurs once. */
export function parseBudget(text: string): ParsedBudget {
  const limits: Partial<Record<Measure, number>> = {}
  const parts = text.split(',').map(part => part.trim())
  if (parts.every(part => part === '')) return { problem: `a budget names amounts, ${EXAMPLE}` }
  for (const part of parts) {
    const parsed = parsePart(part)
    if ('problem' in parsed) return parsed
    if (limits[parsed.measure] !== undefined) return { problem: `${NAMES[parsed.measure]} is given twice` }
    limits[parsed.measure] = parsed.amount
  }
  return { limits }
}

function parsePart(part: string): { measure: Measure; amount: number } | { problem: string } {
  const match = /^(\$)?\s*([+-]?)(\d+(?:\.\d+)?|\.\d+)\s*([kM](?=\s*tokens?$))?\s*([a-z$]*)$/i.exec(part)
  if (!match) return { problem: describeUnreadable(part) }
  const [, dollar, sign, digits, large = '', word = ''] = match
  const unit = findUnit(dollar && word === '' ? '$' : word.toLowerCase())
  if (!unit || (dollar && unit.measure !== 'cost_usd')) return { problem: describeUnitProblem(part) }
  const multiplier =
    large === '' ? 1 : (MULTIPLIERS[large === 'K' ? 'k' : large.toUpperCase() === 'M' ? 'M' : large] ?? 1)
  const amount = Number(digits) * multiplier * unit.factor
  const problem = describeAmountProblem(part, { ...unit, amount, isNegative: sign === '-' })
  return problem === undefined ? { measure: unit.measure, amount } : { problem }
}

function describeAmountProblem(
  part: string,
  { amount, measure, isNegative }: { amount: number; measure: Measure; isNegative: boolean },
): string | undefined {
  if (isNegative || amount === 0) return `"${part}" is no budget: it must be above zero`
  if (!Number.isFinite(amount) || amount > Number.MAX_SAFE_INTEGER) return `"${part}" is more than can be counted`
  if (isWhole(measure) && !Number.isSafeInteger(amount)) return `"${part}" must be a whole number of ${NAMES[measure]}`
  return undefined
}

/** Whether only whole numbers make sense. */
export function isWhole(measure: Measure): boolean {
  return measure === 'turns' || measure === 'tokens'
}

function describeUnreadable(part: string): string {
  if (/^[+-]?(nan|inf(inity)?|∞)\b/i.test(part)) return `"${part}" is no budget: it must be a number above zero`
  return part === '' ? `there is nothing between two commas; write it ${EXAMPLE}` : describeUnitProblem(part)
}

function describeUnitProblem(part: string): string {
  const units = MEASURES.flatMap(measure => UNITS[measure].map(({ names }) => names[0]))
  return `"${part}" is not an amount with a unit (${units.join(', ')}), ${EXAMPLE}`
}

/** An amount as text: `4.20 usd`, `1 h 30 min`, `200 turns`, `3,000,000 tokens`. */
export function amountWords(measure: Measure, amount: number): string {
  switch (measure) {
    case 'cost_usd':
      return `${formatMoney(amount)} usd`
    case 'wall_minutes':
      return formatMinutes(amount)
    case 'turns':
      return `${Math.round(amount).toLocaleString('en-US')} ${Math.round(amount) === 1 ? 'turn' : 'turns'}`
    case 'tokens':
      return `${Math.round(amount).toLocaleString('en-US')} tokens`
  }
}

/** An amount in the form that `--budget` accepts. */
export function typedAmount(measure: Measure, amount: number): string {
  const digits = measure === 'cost_usd' ? Number(amount.toPrecision(6)) : Math.ceil(amount)
  return `${digits} ${UNITS[measure][0].names[0]}`
}

/** A budget in the form that `--budget` accepts. */
export function typedBudget(limits: BudgetLimits): string {
  return MEASURES.flatMap(measure => {
    const limit = limits[measure]
    return limit === undefined ? [] : [typedAmount(measure, limit)]
  }).join(', ')
}

/** Describes a budget, as in `the session's budget of 5.00 usd`. */
export function budgetWords({ scope, measure, limit }: Pick<BudgetUse, 'scope' | 'measure' | 'limit'>): string {
  return `${WHOSE[scope]} budget of ${amountWords(measure, limit)}`
}

/** How the reason of a session begins that waits because the day's budget is spent. */
export const DAY_IS_SPENT = "The day's budget of "

/** How the reason of a session begins that waits because the budget of its task is spent. */
export const TASK_IS_SPENT = "The task's budget of "

/** Whose budget is spent and how much of it, as a sentence without its full stop. */
export function overrunWords(use: BudgetUse): string {
  const words = `${budgetWords(use)} is spent (${amountWords(use.measure, use.spent)})`
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

/** The limit that is advised instead of a spent one: it is doubled until half of the old limit or more is left of it. */
export function advisedLimit({ spent, limit }: Pick<BudgetUse, 'spent' | 'limit'>): number {
  return limit * 2 ** Math.max(1, Math.ceil(Math.log2(spent / limit + 0.5)))
}

/** The command that raises a budget of the settings far enough. */
export function raiseCommand(use: BudgetUse): string {
  return `pcc config set budgets.${use.scope}.${use.measure} ${Math.ceil(advisedLimit(use))}`
}

const WHOSE: Record<BudgetScope, string> = {
  task: "the task's",
  session: "the session's",
  day: "the day's",
  project: "the project's",
}

/** All amounts that are not zero, separated by commas. */
export function spentWords(amounts: Amounts): string {
  const words = MEASURES.filter(measure => amounts[measure] > 0).map(measure => amountWords(measure, amounts[measure]))
  return words.length === 0 ? 'nothing' : words.join(', ')
}

/** `work 4.20 usd, 120,000 tokens · brain 0.10 usd, 900 tokens`; undefined if all of it was work. Money of no known price is left out. */
export function purposeWords(spent: SpentByPurpose, words = PURPOSE_AMOUNTS): string | undefined {
  const parts = PURPOSES.filter(purpose => spent[purpose].tokens > 0 || spent[purpose].cost_usd > 0)
  if (parts.every(purpose => purpose === 'work')) return undefined
  return parts.map(purpose => `${PURPOSE_WORDS[purpose]} ${words(spent[purpose])}`).join(' · ')
}

const PURPOSE_AMOUNTS = (amounts: PurposeAmounts) =>
  (['cost_usd', 'tokens'] as const)
    .filter(measure => amounts[measure] > 0)
    .map(measure => amountWords(measure, amounts[measure]))
    .join(', ')

/** Two digits, or enough digits for an amount below one cent to differ from zero. */
function formatMoney(usd: number): string {
  return usd !== 0 && Math.abs(usd) < 0.01 ? usd.toPrecision(1) : usd.toFixed(2)
}

function formatMinutes(minutes: number): string {
  if (minutes < 1) return minutes <= 0 ? '0 min' : `${Math.max(1, Math.round(minutes * 60))} s`
  const whole = Math.round(minutes)
  const hours = Math.floor(whole / 60)
  if (hours === 0) return `${whole} min`
  return whole % 60 === 0 ? `${hours} h` : `${hours} h ${whole % 60} min`
}
