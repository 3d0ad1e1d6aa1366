import { type BudgetRow, type BudgetView, MEASURES } from '../../domain/budget/budget.ts'
import { amountWords, spentWords } from '../../domain/budget/words.ts'
import { wakeTime } from '../render/format.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { firstLine, wrap } from '../render/text.ts'

const INDENT = 2
const BAR = 20

/** The page of `pcc budget`: each scope with what is spent, and a bar for each bound there is. */
export function budgetPage({ at, day_ends_at, scopes }: BudgetView, terminal: Terminal): string[] {
  const pages = scopes.map(row => rowLines(row, terminal))
  const isBound = scopes.some(({ at_bound }) => at_bound !== null)
  const lines = pages.flatMap((page, index) => (index === 0 ? page : ['', ...page]))
  if (isBound) return [...lines, '', terminal.paint('dim', `A day's budget is fresh at ${wakeTime(day_ends_at, at)}.`)]
  return [...lines, '', ...wrap(UNBOUND, terminal.width).map(line => terminal.paint('dim', line))]
}

const UNBOUND =
  'No budget is set. Set one with: pcc config set budgets.day.cost_usd 20, or for one session: pcc start … --budget "5 usd, 2h"'

function rowLines({ scope, key, name, spent, limits, at_bound }: BudgetRow, terminal: Terminal): string[] {
  const title = scope === 'day' ? `Today (${key})` : `${NAMES[scope]} ${firstLine(name)}`
  const where = scope === 'day' ? '' : ` ${terminal.paint('dim', firstLine(key))}`
  const bars = MEASURES.flatMap(measure => {
    const limit = limits[measure]
    if (limit === undefined) return []
    const share = spent[measure] / limit
    const left = Math.max(0, limit - spent[measure])
    const of = `${amountWords(measure, spent[measure])} of ${amountWords(measure, limit)}, ${amountWords(measure, left)} left`
    const percent = `${Math.min(999, Math.floor(share * 100))}%`.padStart(4)
    return [indented(`${terminal.paint(toneAt(share), barOf(share))} ${percent}  ${of}`)]
  })
  const stops = at_bound === null ? [] : wrap(`At the bound ${at_bound}.`, terminal.width - INDENT)
  return [
    `${terminal.paint('bold', title)}${where}`,
    ...wrap(`Spent: ${spentWords(spent)}`, terminal.width - INDENT).map(indented),
    ...bars,
    ...stops.map(line => indented(terminal.paint('dim', line))),
  ]
}

const NAMES = { project: 'Project', session: 'Session', task: 'Task' } as const

/** Anything spent shows, and only what is full is filled to the end. */
function barOf(share: number): string {
  const filled = share >= 1 ? BAR : Math.min(BAR - 1, Math.ceil(Math.max(0, share) * BAR))
  return '█'.repeat(filled) + '░'.repeat(BAR - filled)
}

function toneAt(share: number): Tone {
  if (share >= 1) return 'red'
  return share >= 0.8 ? 'yellow' : 'green'
}

function indented(line: string): string {
  return ' '.repeat(INDENT) + line
}
