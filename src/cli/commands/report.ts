import { existsSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { ownZone, PAST_TIMES } from '../../base/clock.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { replaceFile } from '../../base/files.ts'
import { neutral } from '../../base/neutral.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Report, ReportedTask } from '../../domain/report.ts'
import { openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { money } from '../render/format.ts'
import { cut, cutAtWord, firstLine, type Terminal, type Tone, wrap } from '../render/text.ts'
import * as format from './report-format.ts'

interface ReportOptions {
  since?: string
  until?: string
  project?: string
  html?: string
}

/** `pcc report`: what happened while nobody was watching. */
export function addReportCommand(program: Command): void {
  program
    .command('report')
    .description('Report what was done, what failed and why, what waits for you, what was spent and decided')
    .option('--since <time>', `from when: ${PAST_TIMES} (default: report.since)`)
    .option('--until <time>', 'until when, in the same forms (default: now)')
    .option('--project <path>', 'only of this project')
    .option('--html <file>', 'write a page for the browser, with a picture of the tasks and a timeline')
    .option('--json', 'print JSON')
    .action(async ({ since, until, project, html }: ReportOptions, command: Command) => {
      const context = await commandContext(command)
      const { json, quiet, out, terminal } = context
      const client = await openClient(context.paths, context)
      const query = new URLSearchParams({
        since: since ?? (await loadConfig(context)).config.report.since,
        zone: ownZone(),
        ...(until !== undefined && { until }),
        ...(project !== undefined && { project: resolve(project) }),
      })
      const report = await client.request<Report>('GET', `/report?${query}`)
      // A project that is gone may still have a past.
      if (project !== undefined && format.isEmpty(report) && !existsSync(project))
        throw new AppError('project_missing', { path: project })
      if (html !== undefined) {
        const { reportHtml } = await import('./report-html.ts')
        writePage(html, reportHtml(report))
        if (!json && !quiet) return out(`Written: ${html}`)
      }
      for (const line of json ? [JSON.stringify(report, null, 2)] : reportPage(report, terminal)) out(line)
    })
}

/** An existing path that is not a regular file (a pipe, `/dev/stdout`) is written to, because it must not be replaced by a file. */
function writePage(file: string, page: string): void {
  const usageError = (problem: string) =>
    new AppError('usage', { problem: `--html "${file}": ${problem}`, command: 'report' })
  const path = resolve(file)
  try {
    const existing = statSync(path, { throwIfNoEntry: false })
    if (existing?.isDirectory()) throw usageError('it is a folder; name a file in it')
    if (!existsSync(dirname(path))) throw usageError('its folder does not exist')
    if (existing && !existing.isFile()) writeFileSync(path, page)
    else replaceFile(path, page, 0o600)
  } catch (error) {
    if (error instanceof AppError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw usageError(code === undefined ? messageOf(error) : `no file can be written there (${code})`)
  }
}

/** The most decisions that are shown here; the HTML page has more. */
const MOST_DECISIONS = 8
const MOST_PACKAGES = 20
const MOST_REFUSED = 10

/** The report on the terminal. What needs the person comes before what was spent. */
export function reportPage(report: Report, terminal: Terminal): string[] {
  const { paint } = terminal
  const projectName = format.projectNamer(report)
  const head = paint('bold', `${firstLine(format.subjectText(report))} · ${format.spanText(report)}`)
  if (format.isEmpty(report)) return [head, '', 'Nothing was worked on.', ...waitingLines(report, terminal)]
  return [
    head,
    '',
    countsLine(report, terminal),
    ...section(
      'Done',
      report.done.flatMap(task => taskLines(task, { glyph: '✓', tone: 'green', terminal, projectName })),
      terminal,
    ),
    ...section(
      'Failed',
      report.failed.flatMap(task => taskLines(task, { glyph: '✗', tone: 'red', terminal, projectName })),
      terminal,
    ),
    ...section(
      'Not finished',
      report.unfinished.flatMap(task => taskLines(task, { glyph: '●', tone: 'yellow', terminal, projectName })),
      terminal,
    ),
    ...section('Not begun', heldUpLines(report, terminal), terminal),
    ...waitingLines(report, terminal),
    ...section('Refused', refusedLines(report, terminal), terminal),
    ...section(
      'Without a sandbox',
      format.unboundedText(report).flatMap(line => wrapped(line, terminal)),
      terminal,
    ),
    ...section(
      'Spent',
      [
        format.spentText(report),
        ...format.purposeText(report),
        ...format.observedText(report),
        ...format.quotaLines(report).map(neutral),
      ].flatMap(line => wrapped(line, terminal)),
      terminal,
    ),
    ...section('Limits', format.limitsText(report)?.split('\n') ?? [], terminal),
    ...section(
      'Memory',
      format.memoryLines(report).flatMap(line => wrapped(line, terminal)),
      terminal,
    ),
    ...section('Decided for you', decisionLines(report, terminal), terminal),
    ...section('Runs', runLines(report, terminal), terminal),
  ]
}

/** A line of plain text, cut between words where the terminal is narrow. */
function wrapped(line: string, { width }: Terminal): string[] {
  return wrap(line, width - 4).map((part, index) => (index === 0 ? part : `  ${part}`))
}

function heldUpLines(report: Report, { paint, width }: Terminal): string[] {
  return format.heldUpTasks(report).map(({ task: { id, title }, after }) => {
    const waits = `  waits for ${after.join(', ')}`
    return `${paint('dim', '○')} ${cutAtWord(`${id} ${firstLine(title)}`, Math.max(20, width - 6 - waits.length))}${paint('dim', waits)}`
  })
}

function countsLine(report: Report, { paint }: Terminal): string {
  const { done, failed, unfinished, waiting, spent } = report
  const counts: [number, string, Tone][] = [
    [done.length, '✓ done', 'green'],
    [failed.length, '✗ failed', 'red'],
    [unfinished.length, '● not finished', 'yellow'],
    [format.heldUpTasks(report).length, '○ not begun', 'dim'],
    [waiting.length, '? waiting for you', 'yellow'],
  ]
  const texts = counts.flatMap(([count, text, tone]) => {
    const [glyph = '', ...rest] = text.split(' ')
    return count === 0 ? [] : [paint(tone, `${glyph} ${count} ${rest.join(' ')}`)]
  })
  return [...texts, money(spent.cost_usd)].join('   ')
}

/** Below this, facts have a line of their own. */
const NARROW = 60

function taskLines(
  task: ReportedTask,
  style: { glyph: string; tone: Tone; terminal: Terminal; projectName: ReturnType<typeof format.projectNamer> },
): string[] {
  const { paint, width } = style.terminal
  const facts = format.taskFacts(task, style.projectName(task))
  const title = `${task.id} ${firstLine(task.title)}`
  const note = style.tone === 'green' ? null : task.note
  const isNarrow = width < NARROW
  return [
    `${paint(style.tone, style.glyph)} ${cutAtWord(title, width - (isNarrow ? 6 : 30))}${facts === '' || isNarrow ? '' : paint('dim', `  ${facts}`)}`,
    ...(isNarrow && facts !== '' ? [paint('dim', `    ${facts}`)] : []),
    ...(note === null ? [] : [cutAtWord(`    ${firstLine(note)}`, width - 2)]),
    ...task.commits.map(({ hash, subject }) =>
      paint('dim', cutAtWord(`    ${hash.slice(0, 8)} ${firstLine(subject)}`, width - 2)),
    ),
  ]
}

function waitingLines({ waiting }: Report, terminal: Terminal): string[] {
  const { paint, width } = terminal
  const lines = waiting.flatMap(({ text, next }) => {
    const [reason, command] = [firstLine(text), neutral(next)]
    const mark = paint('yellow', '?')
    if (reason.length + command.length + 8 <= width) return [`${mark} ${reason}  ${paint('cyan', command)}`]
    const [first = '', ...more] = wrap(reason, width - 6)
    return [`${mark} ${first}`, ...more.map(line => `  ${line}`), `    ${paint('cyan', command)}`]
  })
  return section('Waiting for you', lines, terminal)
}

/** What was refused, also for tasks that are done without it; below each what allows it, while somebody needs it. */
function refusedLines({ refused }: Report, { paint, width }: Terminal): string[] {
  const lines = refused
    .slice(0, MOST_REFUSED)
    .flatMap(({ at, what, why, count, next }) => [
      `${paint('dim', format.hourMinute(at))} ${cutAtWord(firstLine(what), width - 16)}${count > 1 ? paint('dim', ` (${count}×)`) : ''}`,
      cutAtWord(`      ${firstLine(why)}`, width - 2),
      ...(next === null ? [] : [`      ${paint('cyan', neutral(next))}`]),
    ])
  const more = refused.length - MOST_REFUSED
  return [...lines, ...(more > 0 ? [paint('dim', `… and ${more} more: pcc report --html report.html`)] : [])]
}

function decisionLines(report: Report, { paint, width }: Terminal): string[] {
  const { shown } = report.decisions
  const lines = shown.slice(0, MOST_DECISIONS).map(({ at, what, verdict, by, why }) => {
    const tone: Tone = verdict === 'refused' ? 'red' : 'green'
    const reason = why === '' ? '' : paint('dim', ` ${neutral(by)}: ${firstLine(why)}`)
    return `${paint('dim', format.hourMinute(at))} ${paint(tone, verdict)} ${cut(firstLine(what), Math.max(20, width - 60))}${reason}`
  })
  const more = shown.length - lines.length
  const packages = format.packagesText(report, MOST_PACKAGES)
  return [
    format.decisionsText(report),
    ...(packages === undefined ? [] : [paint('yellow', packages)]),
    ...lines,
    ...(more > 0 ? [paint('dim', `… and ${more} more: pcc report --html report.html`)] : []),
  ]
}

function runLines(report: Report, { width }: Terminal): string[] {
  const { runs, not_begun } = report
  const describeTarget = targetDescriber(report)
  const begun = runs.map(({ id, outcome, reason, ...run }) => {
    const state = outcome === null ? 'goes on' : outcome.replaceAll('_', ' ')
    return cutAtWord(
      `${id} ${describeTarget(run)}: ${state}${reason === null ? '' : `, ${firstLine(reason)}`}`,
      width - 2,
    )
  })
  const notBegun = not_begun.map(({ schedule_id, due_at, reason, ...run }) =>
    cutAtWord(`${schedule_id} ${describeTarget(run)}, ${format.dayTime(due_at)}: ${firstLine(reason)}`, width - 2),
  )
  return [...begun, ...notBegun]
}

/** Describes the target of a run: `shop, feature checkout`. */
function targetDescriber(report: Report): (run: { project: string; target: string }) => string {
  const projectName = format.projectNamer(report)
  return run =>
    [projectName(run), run.target]
      .filter(text => text !== '')
      .map(firstLine)
      .join(', ')
}

function section(title: string, lines: string[], { paint }: Terminal): string[] {
  return lines.length === 0 ? [] : ['', paint('bold', title), ...lines.map(line => `  ${line}`)]
}
