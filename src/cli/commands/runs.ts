import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { RunView } from '../../domain/run.ts'
import type { ScheduleView } from '../../domain/schedule.ts'
import { openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { scheduleLines } from './run/control.ts'
import { runLines } from './run/lines.ts'

/** The number of past runs that are shown without `--all`. */
const LATEST = 20
/** With `--all`: the list of a year is no longer read. */
const MOST = 1_000

/** `pcc runs`: lists scheduled runs first, then current and past runs, newest first. */
export function addRunsCommand(program: Command): void {
  program
    .command('runs')
    .description('List runs, those to come first, then the newest')
    .option('--project <path>', 'only those of this project')
    .option('--all', `also those before the last ${LATEST}, up to ${MOST}`)
    .option('--json', 'print JSON')
    .action(async ({ project, all }: { project?: string; all?: true }, command: Command) => {
      const { json, out, terminal, ...context } = await commandContext(command)
      const client = await openClient(context.paths, context)
      const ofProject = project === undefined ? [] : [`project=${encodeURIComponent(resolve(project))}`]
      const query = [...ofProject, `limit=${all ? MOST : LATEST}`].join('&')
      const answer = await client.request<{ runs: RunView[]; total: number }>('GET', `/runs?${query}`)
      const scheduleQuery = ofProject.map(parameter => `?${parameter}`).join('')
      const { schedules } = await client.request<{ schedules: ScheduleView[] }>('GET', `/schedules${scheduleQuery}`)
      if (json) return out(JSON.stringify({ ...answer, schedules }, null, 2))
      for (const line of scheduleLines(schedules, terminal, Date.now())) out(line)
      const older = answer.total - answer.runs.length
      const total = all ? answer.runs.length : answer.total
      for (const line of runLines({ ...answer, total }, terminal, Date.now())) out(line)
      if (all && older > 0) out(`${older} older are not shown.`)
    })
}
