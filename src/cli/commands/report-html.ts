import { HOUR_MS } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { Report, ReportedPeriod, ReportedTask } from '../../domain/report.ts'
import { duration, money } from '../render/format.ts'
import { cutAtWord, firstLine } from '../render/text.ts'
import * as format from './report-format.ts'
import { drawSvg, escapeXml } from './task/graph.ts'
import { stateWord } from './task/lines.ts'

/** The report as one HTML file that needs no network and runs no code. */
export function reportHtml(report: Report): string {
  const { done, failed, unfinished, waiting, spent } = report
  const title = format.titleText(report)
  const timeline = drawTimeline(report)
  const projectName = format.projectNamer(report)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${text(title)}</title><style>${STYLE}</style></head><body><main>
<h1>${text(title)}</h1><p class="span">${text(format.spanText(report))}</p>
<div class="tiles">
${tile('done', done.length, 'done', 'green')}
${tile('failed', failed.length, 'failed', failed.length > 0 ? 'red' : '')}
${tile('unfinished', unfinished.length, 'not finished', unfinished.length > 0 ? 'amber' : '')}
${tile('waiting', waiting.length, waiting.length === 1 ? 'waits for you' : 'wait for you', waiting.length > 0 ? 'amber' : '')}
${tile('cost', money(spent.cost_usd), 'spent', '')}
${tile('worked', duration(spent.worked_ms), 'of work', '')}
</div>
${format.isEmpty(report) ? '<p>Nothing was worked on.</p>' : ''}
${section('Waiting for you', waiting.map(waitingItem))}
${section(
  'Done',
  done.map(task => taskItem(task, projectName(task), false)),
)}
${section(
  'Failed',
  failed.map(task => taskItem(task, projectName(task), true)),
)}
${section(
  'Not finished',
  unfinished.map(task => taskItem(task, projectName(task), true)),
)}
${section('Not begun', format.heldUpTasks(report).map(heldUpItem))}
${timeline === '' ? '' : `<h2>When</h2><div class="time" id="timeline">${timeline}</div>`}
${report.graph.length === 0 ? '' : `<h2>Tasks and what comes after what</h2><div class="picture" id="graph">${drawSvg(report.graph)}</div><ul class="order">${report.graph.map(graphItem).join('\n')}</ul>`}
${section('Refused', report.refused.map(refusedItem))}
${section(
  'Without a sandbox',
  format.unboundedText(report).map(line => `<li>${text(line)}</li>`),
)}
${section(
  'Spent',
  [
    format.spentText(report),
    ...format.purposeText(report),
    ...format.observedText(report),
    ...format.quotaLines(report),
    ...(format.limitsText(report)?.split('\n') ?? []),
  ].map(line => `<li>${text(line)}</li>`),
)}
${section(
  'Memory',
  format.memoryLines(report).map(line => `<li>${text(line)}</li>`),
)}
${section('Decided for you', [...[format.decisionsText(report), format.packagesText(report)].flatMap(line => (line === undefined ? [] : `<li>${text(line)}</li>`)), ...report.decisions.shown.map(decisionItem)])}
${section('Runs', [...report.runs.map(run => runItem(run, projectName(run))), ...report.not_begun.map(run => notBegunItem(run, projectName(run)))])}
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

/** The graph as a list, for a screen on which its picture would be unreadable. */
function graphItem(task: Report['graph'][number]): string {
  const tone = task.state === 'done' ? 'green' : task.state === 'failed' ? 'red' : 'soft'
  const after = task.after.length === 0 ? '' : `<p class="note">after ${task.after.map(idText).join(', ')}</p>`
  return `<li>${text(firstLine(task.title))} ${idText(task.id)} <span class="${tone}">${text(stateWord(task))}</span>${after}</li>`
}

/** About as much of a note as a person reads in a report. */
const NOTE_LENGTH = 600

function taskItem(task: ReportedTask, projectName: string, withNote: boolean): string {
  const note = withNote && task.note !== null ? `<p class="note">${text(cutAtWord(task.note, NOTE_LENGTH))}</p>` : ''
  const commits = task.commits.map(
    ({ hash, subject }) => `<p class="note"><code>${hash.slice(0, 8)}</code> ${text(firstLine(subject))}</p>`,
  )
  const facts = format.taskFacts(task, projectName)
  return `<li><span class="facts">${text(facts)}</span>${text(firstLine(task.title))} ${idText(task.id)}${note}${commits.join('')}</li>`
}

function heldUpItem({ task, after }: ReturnType<typeof format.heldUpTasks>[number]): string {
  return `<li>${text(firstLine(task.title))} ${idText(task.id)}<p class="note">waits for ${after.map(idText).join(', ')}</p></li>`
}

/** An id in a sentence does not break at its hyphen. */
function textWithIds(sentence: string): string {
  return text(sentence).replaceAll(/\b[trsc]-[0-9a-f]{6}\b/g, idText)
}

function waitingItem({ text: reason, next, since }: Report['waiting'][number]): string {
  const when = since === null ? '' : `<span class="facts">since ${text(format.dayTime(since))}</span>`
  return `<li>${when}${textWithIds(firstLine(reason))}<br><code class="next">${text(next)}</code></li>`
}

function refusedItem({ at, what, why, count, next }: Report['refused'][number]): string {
  const times = count > 1 ? ` <span class="soft">${count}×</span>` : ''
  const command = next === null ? '' : `<br><code class="next">${text(next)}</code>`
  return `<li><span class="soft">${format.hourMinute(at)}</span> <code>${text(cutAtWord(firstLine(what), 300))}</code>${times}<p class="note">${text(firstLine(why))}</p>${command}</li>`
}

function decisionItem({ at, what, verdict, by, why }: Report['decisions']['shown'][number]): string {
  const tone = verdict === 'refused' ? 'red' : 'green'
  const reason = why === '' ? '' : `<p class="note">${text(by)}: ${text(firstLine(why))}</p>`
  return `<li><span class="soft">${format.hourMinute(at)}</span> <span class="${tone}">${verdict}</span> <code>${text(cutAtWord(firstLine(what), 300))}</code>${reason}</li>`
}

function runItem({ id, target, outcome, reason }: Report['runs'][number], projectName: string): string {
  const state = outcome === null ? 'goes on' : outcome.replaceAll('_', ' ')
  return `<li>${idText(id)} ${text(firstLine(fullTarget(projectName, target)))}: ${state}${reason === null ? '' : `<p class="note">${text(firstLine(reason))}</p>`}</li>`
}

function notBegunItem(
  { schedule_id, target, due_at, reason }: Report['not_begun'][number],
  projectName: string,
): string {
  const run = `${firstLine(fullTarget(projectName, target))}, ${format.dayTime(due_at)}`
  return `<li>${idText(schedule_id)} ${text(run)}<p class="note">${text(firstLine(reason))}</p></li>`
}

function fullTarget(projectName: string, target: string): string {
  return projectName === '' ? target : `${projectName}, ${target}`
}

function text(value: string): string {
  return escapeXml(neutral(value))
}

function idText(id: string): string {
  return `<span class="id">${text(id)}</span>`
}

/** A picture with more rows is unreadable. */
const MOST_ROWS = 120

/** What the colours of the bars mean, in the order of the legend. */
const MEANINGS: Record<ReportedPeriod['as'], string> = {
  done: 'done',
  failed: 'failed',
  'sent back': 'called done, and sent back by its checks, its merge or a person',
  waiting: 'then had to wait: a limit, an answer or a pause',
  'given back': 'stopped and given back',
  'at work': 'still at work',
}

const TICK_STEPS = [1 / 60, 1 / 12, 1 / 4, 1, 2, 6, 12, 24].map(hours => hours * HOUR_MS)

/** The timeline: a row for each task and a bar for each attempt. On a narrow screen the title of a row is above its bars. */
function drawTimeline({ timeline: periods }: Pick<Report, 'timeline'>): string {
  if (periods.length === 0) return ''
  const rows = [...Map.groupBy(periods, ({ task_id }) => task_id).values()].slice(0, MOST_ROWS)
  const from = Math.min(...periods.map(period => period.from))
  const to = Math.max(...periods.map(period => period.to), from + 1000)
  const share = (time: number) => ((time - from) / (to - from)) * 100
  const times = chooseTicks(from, to)
  const ticks = times.map((time, index) => {
    // A narrow screen has room for a third of them.
    const often = index % 3 === 0 ? '' : ' often'
    const edge = share(time) < 4 ? ' first' : share(time) > 96 ? ' last' : ''
    return `<span class="tick${often}${edge}" style="left:${share(time).toFixed(2)}%">${format.hourMinute(time)}</span>`
  })
  const shown = new Set(periods.map(({ as }) => as))
  const legend = Object.entries(MEANINGS).filter(([as]) => shown.has(as as ReportedPeriod['as']))
  return `<div class="row axis"><span></span><span class="track">${ticks.join('')}</span></div>
${rows.map(row => drawRow(row, share)).join('\n')}
<p class="legend">${legend.map(([as, meaning]) => `<span><b class="${barClass(as)}"></b>${meaning}</span>`).join(' ')}</p>`
}

function drawRow(row: ReportedPeriod[], share: (time: number) => number): string {
  const title = firstLine(row[0]?.title ?? '')
  const bars = row.map(({ from, to, as }) => {
    const tooltip = `${title}: ${as}, ${format.hourMinute(from)} to ${format.hourMinute(to)} (${duration(to - from)})`
    const place = `left:${share(from).toFixed(2)}%;width:${(share(to) - share(from)).toFixed(2)}%`
    return `<i class="${barClass(as)}" style="${place}" title="${text(tooltip)}"></i>`
  })
  return `<div class="row"><span class="name" title="${text(title)}">${text(title)}</span><span class="track">${bars.join('')}</span></div>`
}

function barClass(as: string): string {
  return `bar ${as.replace(' ', '-')}`
}

/** At most about a dozen ticks, at round times of the clock. */
function chooseTicks(from: number, to: number): number[] {
  const step = TICK_STEPS.find(candidate => (to - from) / candidate <= 12) ?? 24 * HOUR_MS
  // By the local clock: a time zone may be half an hour off.
  const offset = new Date(from).getTimezoneOffset() * 60_000
  const first = Math.ceil((from - offset) / step) * step + offset
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, index) => first + index * step)
}

/** The colours of both themes and the layout of the page, inline because the page must look the same without a network. */
const STYLE = `
:root{--ink:#1c2024;--soft:#60646c;--line:#e2e4e9;--paper:#fff;--card:#f7f8fa;--green:#18794e;--red:#c62a2f;--amber:#ad5700;--blue:#0b68cb}
@media (prefers-color-scheme:dark){:root{--ink:#ecedee;--soft:#9ba1a6;--line:#2b2f31;--paper:#151718;--card:#1a1d1e;--green:#4cc38a;--red:#ff6369;--amber:#f1a10d;--blue:#52a9ff}}
*{box-sizing:border-box}
body{margin:0;overflow-wrap:anywhere;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:980px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:24px;margin:0 0 2px}h2{font-size:16px;margin:36px 0 10px}
.span{color:var(--soft);margin:0 0 22px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:10px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.tile b{display:block;font-size:26px;line-height:1.2;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}
.green b,.green{color:var(--green)}.red b,.red{color:var(--red)}.amber b,.amber{color:var(--amber)}
ul{list-style:none;margin:0;padding:0}li{border-top:1px solid var(--line);padding:9px 0}li:first-child{border-top:0}
code,.id{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}.id{white-space:nowrap}
.id,.soft{color:var(--soft)}.facts{color:var(--soft);font-size:13px;float:right;padding-left:12px}
.note{color:var(--soft);margin:2px 0 0;white-space:pre-wrap}
.next{display:inline-block;margin-top:3px;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:1px 7px;color:var(--blue)}
.picture{overflow:auto;border:1px solid var(--line);border-radius:10px;background:#fff}.picture svg{max-width:100%;height:auto;display:block}
.row{display:grid;grid-template-columns:minmax(0,250px) 1fr;gap:12px;align-items:center;min-height:24px;font-size:13px}
.name{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.track{position:relative;height:14px;border-radius:3px;background:var(--card)}.axis .track{background:none}
.tick{position:absolute;white-space:nowrap;transform:translateX(-50%);color:var(--soft);font-size:12px;line-height:14px;font-variant-numeric:tabular-nums}
.tick.first{transform:none}.tick.last{transform:translateX(-100%)}
.bar{position:absolute;top:0;height:14px;min-width:3px;border-radius:3px;background:var(--soft)}
.bar.done{background:var(--green)}.bar.failed{background:var(--red)}.bar.sent-back{background:var(--red);opacity:.45}.bar.waiting{background:var(--amber)}.bar.at-work{background:var(--blue)}
.legend{color:var(--soft);font-size:13px;margin:10px 0 0}.legend span{margin-right:14px}.legend .bar{display:inline-block;position:static;width:12px;height:12px;margin-right:6px;vertical-align:-1px}
.order{display:none}
footer{margin-top:44px;color:var(--soft);font-size:13px}
@media (max-width:640px){main{padding:20px 14px 48px}.tiles{grid-template-columns:repeat(3,1fr)}.tile{padding:9px 10px}.tile b{font-size:20px}
.facts{float:none;display:block;padding:0}.row{grid-template-columns:1fr;gap:2px;padding:5px 0}.axis{padding:0}.name{white-space:normal}.often{display:none}
.legend span{display:block}.picture{display:none}.order{display:block}}
`
