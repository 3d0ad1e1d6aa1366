import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { JournalPage } from '../../domain/runs/journal.ts'
import { ownZone } from '../../domain/schedules/own-zone.ts'
import { sinceOf } from '../../tasks/schedules/since.ts'
import { openClient } from '../client.ts'
import { contextOf } from '../context.ts'
import { journalLines } from './page.ts'

interface JournalOptions {
  run?: string
  task?: string
  since?: number
  limit: number
  project?: string
  all?: true
}

/** `pcc journal`: what became of every attempt, by run, task, time and words. */
export function addJournalCommand(program: Command): void {
  program
    .command('journal')
    .description('What became of every attempt of your runs: newest first, or the best match for some words.')
    .argument('[words...]', 'only entries with all of these, in title, notes, reason or files')
    .option('--run <run>', 'only of this run')
    .option('--task <task>', 'only of this task')
    .option('--since <time>', 'only since: 2h, 7d, 22:00, yesterday, 2026-01-31', text =>
      sinceOf(text, ownZone(), Date.now()),
    )
    .option('--limit <n>', 'at most so many', limit, 20)
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--all', 'of all projects')
    .option('--json', 'print JSON')
    .action(async (typed: string[], options: JournalOptions, command: Command) => {
      const { json, out, terminal, ...context } = await contextOf(command)
      const { run, task, since, limit: most, project, all } = options
      const words = typed.join(' ').trim()
      // A run or a task says by itself where it belongs.
      const anywhere = all === true || ((run ?? task) !== undefined && project === undefined)
      const query = new URLSearchParams({
        ...(anywhere ? {} : { project: resolve(project ?? '.') }),
        ...(run !== undefined && { run: run.toLowerCase() }),
        ...(task !== undefined && { task }),
        ...(words !== '' && { words }),
        ...(since !== undefined && { since: String(since) }),
        limit: String(most),
      })
      const client = await openClient(context.places, context)
      const page = await client.request<JournalPage>('GET', `/journal?${query}`)
      if (json) return out(JSON.stringify(page, null, 2))
      const asked = { words, all: all === true, now: Date.now() }
      for (const line of journalLines(page, terminal, asked)) out(line)
    })
}

function limit(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > 1_000)
    throw new InvalidArgumentError('It must be a number from 1 to 1000.')
  return Number(text)
}
