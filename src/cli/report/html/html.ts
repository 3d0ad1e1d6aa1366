import { basename } from 'node:path'
import type { Report, ReportedTask } from '../../../domain/report/report.ts'
import { duration, money } from '../../render/format.ts'
import { firstLine, neutral } from '../../render/text.ts'
import { drawSvg, escaped } from '../../tasks/graph/svg.ts'
import * as words from '../words.ts'
import { STYLE } from './style.ts'
import { timeline } from './timeline.ts'

/** One file that says everything, opens without a network and runs no code. */
export function reportHtml(report: Report): string {
  const { done, failed, unfinished, waiting, spent, project } = report
  const title = project === null ? 'Report' : `Report · ${basename(project)}`
  const bars = timeline(report)
  const place = words.placeIn(report)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${text(title)}</title><style>${STYLE}</style></head><body><main>
<h1>${text(title)}</h1><p class="span">${text(words.spanText(report))}</p>
<div class="tiles">
${tile('done', done.length, 'done', 'green')}
${tile('failed', failed.length, 'failed', failed.length > 0 ? 'red' : '')}
${tile('unfinished', unfinished.length, 'not finished', unfinished.length > 0 ? 'amber' : '')}
${tile('waiting', waiting.length, waiting.length === 1 ? 'waits for you' : 'wait for you', waiting.length > 0 ? 'amber' : '')}
${tile('cost', money(spent.cost_usd), 'spent', '')}
${tile('worked', duration(spent.worked_ms), 'of work', '')}
</div>
${words.isEmpty(report) ? '<p>Nothing was worked on.</p>' : ''}
${section('Waiting for you', waiting.map(waitingItem))}
${section(
  'Done',
  done.map(task => taskItem(task, place(task), false)),
)}
${section(
  'Failed',
  failed.map(task => taskItem(task, place(task), true)),
)}
${section(
  'Not finished',
  unfinished.map(task => taskItem(task, place(task), true)),
)}
${bars === '' ? '' : `<h2>When</h2><div class="time" id="timeline">${bars}</div>`}
${report.graph.length === 0 ? '' : `<h2>Tasks and what comes after what</h2><div class="picture" id="graph">${drawSvg(report.graph)}</div>`}
${section(
  'Spent',
  [words.spentText(report), ...words.quotaLines(report), ...(words.limitsText(report)?.split('\n') ?? [])].map(
    line => `<li>${text(line)}</li>`,
  ),
)}
${section('Decided for you', [`<li>${text(words.decisionsText(report))}</li>`, ...report.decisions.shown.map(decisionItem)])}
${section('Runs', [...report.runs.map(run => runItem(run, place(run))), ...report.not_begun.map(run => notBegunItem(run, place(run)))])}
<footer>Made by pcc from its event log.</footer>
</main></body></html>
`
}

function tile(id: string, value: string | number, label: string, tone: string): string {
  return `<div class="tile ${tone}" id="${id}"><b>${text(String(value))}</b><span>${label}</span></div>`
}

function section(title: string, items: string[]): string {
  return items.length === 0 ? '' : `<h2>${title}</h2><ul>${items.join('\n')}</ul>`
}

function taskItem(task: ReportedTask, place: string, withNote: boolean): string {
  const note = withNote && task.note !== null ? `<p class="note">${text(task.note.slice(0, 600))}</p>` : ''
  const commits = task.commits.map(
    ({ hash, subject }) => `<p class="note"><code>${hash.slice(0, 8)}</code> ${text(firstLine(subject))}</p>`,
  )
  const facts = words.taskFacts(task, place)
  return `<li><span class="facts">${text(facts)}</span>${text(firstLine(task.title))} <span class="id">${text(task.id)}</span>${note}${commits.join('')}</li>`
}

function waitingItem({ text: said, next, since }: Report['waiting'][number]): string {
  const when = since === null ? '' : `<span class="facts">since ${text(words.dayTime(since))}</span>`
  return `<li>${when}${text(firstLine(said))}<br><code class="next">${text(next)}</code></li>`
}

function decisionItem({ at, what, verdict, by, why }: Report['decisions']['shown'][number]): string {
  const tone = verdict === 'refused' ? 'red' : 'green'
  const reason = why === '' ? '' : `<p class="note">${text(by)}: ${text(firstLine(why))}</p>`
  return `<li><span class="soft">${words.hourMinute(at)}</span> <span class="${tone}">${verdict}</span> <code>${text(firstLine(what).slice(0, 300))}</code>${reason}</li>`
}

function runItem({ id, target, outcome, reason }: Report['runs'][number], place: string): string {
  const how = outcome === null ? 'goes on' : outcome.replaceAll('_', ' ')
  return `<li><span class="id">${text(id)}</span> ${text(firstLine(where(place, target)))}: ${how}${reason === null ? '' : `<p class="note">${text(firstLine(reason))}</p>`}</li>`
}

function notBegunItem({ schedule_id, target, due_at, reason }: Report['not_begun'][number], place: string): string {
  const what = `${firstLine(where(place, target))}, ${words.dayTime(due_at)}`
  return `<li><span class="id">${text(schedule_id)}</span> ${text(what)}<p class="note">${text(firstLine(reason))}</p></li>`
}

function where(place: string, target: string): string {
  return place === '' ? target : `${place}, ${target}`
}

function text(value: string): string {
  return escaped(neutral(value))
}
