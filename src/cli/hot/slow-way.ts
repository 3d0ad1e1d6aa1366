import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { contextOf } from '../context.ts'
import { showList, showStatus } from './show.ts'

/** `pcc list` when the daemon must be started first, or when its flags need explaining. */
export function addListCommand(program: Command): void {
  program
    .command('list')
    .description('List all managed sessions.')
    .option(
      '--status <status>',
      'only these, comma-separated: running, waiting_input, paused, rate_limited, stopped, completed, error',
    )
    .option('--project <path>', 'only sessions of this project')
    .option('--json', 'print JSON')
    .action(async (options: { status?: string; project?: string }, command: Command) => {
      const { terminal, out, json, ...context } = await contextOf(command)
      const client = await openClient(context.places, context)
      await showList({ ...options, json }, { get: path => client.request('GET', path), terminal, out })
    })
}

/** `pcc status` when the daemon must be started first, or when its flags need explaining. */
export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('Show one session in detail.')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--show-history', 'also the latest events')
    .option('--show-decisions', 'also what was allowed, refused and answered')
    .option('--json', 'print JSON')
    .action(async (ref: string, options: { showHistory?: true; showDecisions?: true }, command: Command) => {
      const { terminal, out, json, ...context } = await contextOf(command)
      const client = await openClient(context.places, context)
      await showStatus({ ...options, ref, json }, { get: path => client.request('GET', path), terminal, out })
    })
}
