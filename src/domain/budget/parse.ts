import type { BudgetLimits, Measure } from './budget.ts'

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
