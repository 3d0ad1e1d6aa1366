import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { BudgetView } from '../../domain/budget/budget.ts'
import { openClient } from '../client.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import { contextOf } from '../context.ts'
import { budgetPage } from './page.ts'

/** `pcc budget`: what is spent and left, and what stops when. */
export function addBudgetCommand(program: Command): void {
  const budget = program
    .command('budget')
    .description('Show what is spent and left: today, by project, session and task.')
    .option('--project <path>', 'only this project')
    .option('--json', 'print JSON')
    .action(async ({ project }: { project?: string }, command: Command) => {
      const context = await contextOf(command)
      const client = await openClient(context.places, context)
      const query = project === undefined ? '' : `?project=${encodeURIComponent(resolve(project))}`
      show(await client.request<BudgetView>('GET', `/budget${query}`), context)
    })
  budget
    .command('reset')
    .description("Let a project's budget count from zero again.")
    .argument('[project-path]', 'the project directory', '.')
    .option('--json', 'print JSON')
    .action(async (path: string, _options: object, command: Command) => {
      const context = await contextOf(command)
      refuseInSession(context.env, 'budget reset')
      const client = await openClient(context.places, context)
      show(await client.request<BudgetView>('POST', '/budget/reset', { project: resolve(path) }), context)
    })
}

function show(view: BudgetView, { json, out, terminal }: Awaited<ReturnType<typeof contextOf>>): void {
  const lines = json ? [JSON.stringify(view, null, 2)] : budgetPage(view, terminal)
  for (const line of lines) out(line)
}
