import { resolve } from 'node:path'
import type { Command } from 'commander'
import { wakeTime } from '../../base/clock.ts'
import {
  amountWords,
  type BudgetRow,
  type BudgetView,
  MEASURES,
  purposeWords,
  spentWords,
} from '../../domain/budget.ts'
import { openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { refuseInSession } from '../options.ts'
import { firstLine, type Terminal, type Tone, wrap } from '../render/text.ts'
import { projectDirectory } from './start-session.ts'

/** `pcc budget`: what is spent, what is left, and what stops at each limit. */
export function addBudgetCommand(program: Command): void {
  const budget = program
    .command('budget')
    .description('Show what is spent and left: today, by project, session and task')
    .option('--project <path>', 'only this project')
    .option('--json', 'print JSON')
    .action(async ({ project }: { project?: string }, command: Command) => {
      const context = await commandContext(command)
      const client = await openClient(context.paths, context)
      const query = project === undefined ? '' : `?project=${encodeURIComponent(resolve(project))}`
      show(await client.request<BudgetView>('GET', `/budget${query}`), context)
    })
  budget
    .command('reset')
    .description('Count a project’s budget from zero again')
    .argument('[project-path]', 'the project directory', '.')
    .option('--json', 'print JSON')
    .action(async (path: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'budget reset')
      const client = await openClient(context.paths, context)
      show(await client.request<BudgetView>('POST', '/budget/reset', { project: projectDirectory(path) }), context)
    })
}

function show(view: BudgetView, { json, out, terminal }: Awaited<ReturnType<typeof commandContext>>): void {
  const lines = json ? [JSON.stringify(view, null, 2)] : budgetPage(view, terminal)
  for (const line of lines) out(line)
}

const INDENT = 2
const BAR_WIDTH = 20

/** The page of `pcc budget`: for each scope what is spent, and a bar for each limit that is set. */
export function budgetPage({ at, day_ends_at, scopes }: BudgetView, terminal: Terminal): string[] {
  const pages = scopes.map(row => rowLines(row, terminal))
  const hasLimit = scopes.some(({ at_bound }) => at_bound !== null)
  const lines = pages.flatMap((page, index) => (index === 0 ? page : ['', ...page]))
  if (hasLimit) return [...lines, '', terminal.paint('dim', `A day's budget is fresh at ${wakeTime(day_ends_at, at)}.`)]
  return [...lines, '', ...wrap(NO_BUDGET, terminal.width).map(line => terminal.paint('dim', line))]
}

const NO_BUDGET =
  'No budget is set. Set one with: pcc config set budgets.day.cost_usd 20, or for one session: pcc start … --budget "5 usd, 2h"'

function rowLines({ scope, key, name, spent, by_purpose, limits, at_bound }: BudgetRow, terminal: Terminal): string[] {
  const purposes = purposeWords(by_purpose)
  const title = scope === 'day' ? `Today (${key})` : `${SCOPE_NAMES[scope]} ${firstLine(name)}`
  const where = scope === 'day' ? '' : ` ${terminal.paint('dim', firstLine(key))}`
  const bars = MEASURES.flatMap(measure => {
    const limit = limits[measure]
    if (limit === undefined) return []
    const share = spent[measure] / limit
    const left = Math.max(0, limit - spent[measure])
    const amounts = `${amountWords(measure, spent[measure])} of ${amountWords(measure, limit)}, ${amountWords(measure, left)} left`
    const percent = `${Math.min(999, Math.floor(share * 100))}%`.padStart(4)
    return [indent(`${terminal.paint(toneFor(share), drawBar(share))} ${percent}  ${amounts}`)]
  })
  const stops = at_bound === null ? [] : wrap(`At the bound ${at_bound}.`, terminal.width - INDENT)
  return [
    `${terminal.paint('bold', title)}${where}`,
    ...wrap(`Spent: ${spentWords(spent)}`, terminal.width - INDENT).map(indent),
    ...(purposes === undefined ? [] : wrap(`By purpose: ${purposes}`, terminal.width - INDENT).map(indent)),
    ...bars,
    ...stops.map(line => indent(terminal.paint('dim', line))),
  ]
}

const SCOPE_NAMES = { project: 'Project', session: 'Session', task: 'Task' } as const

/** Any spending fills at least one cell; only a used-up budget fills the last one. */
function drawBar(share: number): string {
  const filled = share >= 1 ? BAR_WIDTH : Math.min(BAR_WIDTH - 1, Math.ceil(Math.max(0, share) * BAR_WIDTH))
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
}

function toneFor(share: number): Tone {
  if (share >= 1) return 'red'
  return share >= 0.8 ? 'yellow' : 'green'
}

function indent(line: string): string {
  return ' '.repeat(INDENT) + line
}
