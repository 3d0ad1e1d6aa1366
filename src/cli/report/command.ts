import { statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError, messageOf } from '../../base/errors.ts'
import { replaceFile } from '../../base/files/replace-file.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Report } from '../../domain/report/report.ts'
import { ownZone } from '../../domain/schedules/own-zone.ts'
import { openClient } from '../client.ts'
import { contextOf } from '../context.ts'
import { reportPage } from './page.ts'

interface Typed {
  since?: string
  until?: string
  project?: string
  html?: string
}

/** `pcc report`: what happened while nobody looked. */
export function addReportCommand(program: Command): void {
  program
    .command('report')
    .description(
      'Tell what was done, what failed and why, what waits for you, what was spent and what was decided for you.',
    )
    .option('--since <time>', 'from when: "22:00", "yesterday 18:00", "mon 22:00", "8h" (default: report.since)')
    .option('--until <time>', 'until when, said in the same ways (default: now)')
    .option('--project <path>', 'only of this project')
    .option('--html <file>', 'write a page for the browser, with a picture of the tasks and a timeline')
    .option('--json', 'print JSON')
    .action(async ({ since, until, project, html }: Typed, command: Command) => {
      const context = await contextOf(command)
      const { json, quiet, out, terminal } = context
      const client = await openClient(context.places, context)
      const query = new URLSearchParams({
        since: since ?? (await loadConfig(context)).config.report.since,
        zone: ownZone(),
        ...(until !== undefined && { until }),
        ...(project !== undefined && { project: resolve(project) }),
      })
      const report = await client.request<Report>('GET', `/report?${query}`)
      if (html !== undefined) {
        const { reportHtml } = await import('./html/html.ts')
        writePage(html, reportHtml(report))
        if (!json && !quiet) return out(`Written: ${html}`)
      }
      for (const line of json ? [JSON.stringify(report, null, 2)] : reportPage(report, terminal)) out(line)
    })
}

/** What is there and is no plain file (a pipe, `/dev/stdout`) is written to; a file in its place would not be what it was. */
function writePage(file: string, page: string): void {
  const problem = (what: string) => new AppError('usage', { problem: `--html "${file}": ${what}`, command: 'report' })
  const path = resolve(file)
  try {
    const there = statSync(path, { throwIfNoEntry: false })
    if (there?.isDirectory()) throw problem('it is a folder; name a file in it')
    if (there && !there.isFile()) writeFileSync(path, page)
    else replaceFile(path, page, 0o600)
  } catch (error) {
    throw error instanceof AppError ? error : problem(messageOf(error))
  }
}
