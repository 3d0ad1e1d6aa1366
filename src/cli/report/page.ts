import type { Report, ReportedTask } from '../../domain/report/report.ts'
import { money } from '../render/format.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { cut, firstLine, neutral } from '../render/text.ts'
import * as words from './words.ts'

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
