import type { Amounts, BudgetScope, BudgetUse, Measure } from './budget.ts'

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
