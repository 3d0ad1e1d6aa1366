import { statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError, messageOf } from '../../base/errors.ts'
import { replaceFile } from '../../base/files.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Report, ReportedTask } from '../../domain/report.ts'
import { ownZone } from '../../domain/schedule.ts'
import { openClient } from '../connection/client.ts'
import { contextOf } from '../context.ts'
import { money } from '../render/format.ts'
import { cut, firstLine, neutral, type Terminal, type Tone } from '../render/text.ts'
import * as words from './report-format.ts'

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
      const client = await openClient(context.paths, context)
      const query = new URLSearchParams({
        since: since ?? (await loadConfig(context)).config.report.since,
        zone: ownZone(),
        ...(until !== undefined && { until }),
        ...(project !== undefined && { project: resolve(project) }),
      })
      const report = await client.request<Report>('GET', `/report?${query}`)
      if (html !== undefined) {
        const { reportHtml } = await import('./report-html.ts')
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

/** Of decisions that were taken, so many are shown here; the page in a browser has more. */
const DECISIONS = 8

/** `pcc report`: what a person reads with the first coffee. What needs them stands before what was spent. */
export function reportPage(report: Report, terminal: Terminal): string[] {
  const { paint } = terminal
  const only = report.project === null ? '' : ` · ${neutral(report.project)}`
  const place = words.placeIn(report)
  const head = paint('bold', `Report · ${words.spanText(report)}${only}`)
  if (words.isEmpty(report)) return [head, '', 'Nothing was worked on.', ...waitingLines(report, terminal)]
  return [
    head,
    '',
    countsLine(report, terminal),
    ...section(
      'Done',
      report.done.flatMap(task => taskLines(task, { glyph: '✓', tone: 'green', terminal, place })),
      terminal,
    ),
    ...section(
      'Failed',
      report.failed.flatMap(task => taskLines(task, { glyph: '✗', tone: 'red', terminal, place })),
      terminal,
    ),
    ...section(
      'Not finished',
      report.unfinished.flatMap(task => taskLines(task, { glyph: '●', tone: 'yellow', terminal, place })),
      terminal,
    ),
    ...waitingLines(report, terminal),
    ...section('Spent', [words.spentText(report), ...words.quotaLines(report).map(neutral)], terminal),
    ...section(
      'Limits',
      [words.limitsText(report)].flatMap(text => text ?? []),
      terminal,
    ),
    ...section('Decided for you', decisionLines(report, terminal), terminal),
    ...section('Runs', runLines(report, terminal), terminal),
  ]
}

function countsLine({ done, failed, unfinished, waiting, spent }: Report, { paint }: Terminal): string {
  const counts: [number, string, Tone][] = [
    [done.length, '✓ done', 'green'],
    [failed.length, '✗ failed', 'red'],
    [unfinished.length, '● not finished', 'yellow'],
    [waiting.length, '? waiting for you', 'yellow'],
  ]
  const told = counts.flatMap(([count, text, tone]) => {
    const [glyph = '', ...rest] = text.split(' ')
    return count === 0 ? [] : [paint(tone, `${glyph} ${count} ${rest.join(' ')}`)]
  })
  return [...told, money(spent.cost_usd)].join('   ')
}

function taskLines(
  task: ReportedTask,
  look: { glyph: string; tone: Tone; terminal: Terminal; place: ReturnType<typeof words.placeIn> },
): string[] {
  const { paint, width } = look.terminal
  const facts = words.taskFacts(task, look.place(task))
  const title = `${task.id} ${firstLine(task.title)}`
  const note = look.tone === 'green' ? null : task.note
  return [
    `${paint(look.tone, look.glyph)} ${cut(title, width - 30)}${facts === '' ? '' : paint('dim', `  ${facts}`)}`,
    ...(note === null ? [] : [cut(`    ${firstLine(note)}`, width - 2)]),
    ...task.commits.map(({ hash, subject }) =>
      paint('dim', cut(`    ${hash.slice(0, 8)} ${firstLine(subject)}`, width - 2)),
    ),
  ]
}

function waitingLines({ waiting }: Report, terminal: Terminal): string[] {
  const { paint, width } = terminal
  const lines = waiting.map(
    ({ text, next }) => `${paint('yellow', '?')} ${cut(firstLine(text), width - 40)}  ${paint('cyan', neutral(next))}`,
  )
  return section('Waiting for you', lines, terminal)
}

function decisionLines(report: Report, { paint, width }: Terminal): string[] {
  const { shown } = report.decisions
  const lines = shown.slice(0, DECISIONS).map(({ at, what, verdict, by, why }) => {
    const tone: Tone = verdict === 'refused' ? 'red' : 'green'
    const reason = why === '' ? '' : paint('dim', ` ${neutral(by)}: ${firstLine(why)}`)
    return `${paint('dim', words.hourMinute(at))} ${paint(tone, verdict)} ${cut(firstLine(what), Math.max(20, width - 60))}${reason}`
  })
  const more = shown.length - lines.length
  return [
    words.decisionsText(report),
    ...lines,
    ...(more > 0 ? [paint('dim', `… and ${more} more: pcc report --html report.html`)] : []),
  ]
}

function runLines(report: Report, { width }: Terminal): string[] {
  const { runs, not_begun } = report
  const where = whereIn(report)
  const begun = runs.map(({ id, outcome, reason, ...run }) => {
    const how = outcome === null ? 'goes on' : outcome.replaceAll('_', ' ')
    return cut(`${id} ${where(run)}: ${how}${reason === null ? '' : `, ${firstLine(reason)}`}`, width - 2)
  })
  const held = not_begun.map(({ schedule_id, due_at, reason, ...run }) =>
    cut(`${schedule_id} ${where(run)}, ${words.dayTime(due_at)}: ${firstLine(reason)}`, width - 2),
  )
  return [...begun, ...held]
}

/** `shop, feature checkout` */
function whereIn(report: Report): (of: { project: string; target: string }) => string {
  const place = words.placeIn(report)
  return of =>
    [place(of), of.target]
      .filter(word => word !== '')
      .map(firstLine)
      .join(', ')
}

function section(title: string, lines: string[], { paint }: Terminal): string[] {
  return lines.length === 0 ? [] : ['', paint('bold', title), ...lines.map(line => `  ${line}`)]
}
