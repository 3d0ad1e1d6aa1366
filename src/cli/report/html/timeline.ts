import type { Report, Stretch } from '../../../domain/report/report.ts'
import { duration } from '../../render/format.ts'
import { cut, firstLine } from '../../render/text.ts'
import { escaped } from '../../tasks/graph/svg.ts'
import { hourMinute } from '../words.ts'

const WIDTH = 920
const NAMES = 250
const ROW = 24
const BAR = 14
const AXIS = 24
/** About as many letters as stand before a bar. */
const LETTERS = 34
/** More rows are no picture any more. */
const MOST_ROWS = 120
/** Also what took a second must be seen. */
const LEAST = 3

const COLOURS: Record<Stretch['as'], string> = {
  done: 'var(--green)',
  failed: 'var(--red)',
  waiting: 'var(--amber)',
  'given back': 'var(--soft)',
  'at work': 'var(--blue)',
}

const HOUR_MS = 3_600_000
const STEPS = [1 / 60, 1 / 12, 1 / 4, 1, 2, 6, 12, 24].map(hours => hours * HOUR_MS)

/** Who worked on what, when: a row for each task, a bar for each attempt, from the first to the last. */
export function timeline({ timeline: stretches }: Pick<Report, 'timeline'>): string {
  if (stretches.length === 0) return ''
  const rows = [...Map.groupBy(stretches, ({ task_id }) => task_id).values()].slice(0, MOST_ROWS)
  const from = Math.min(...stretches.map(stretch => stretch.from))
  const to = Math.max(...stretches.map(stretch => stretch.to), from + 1000)
  const x = (moment: number) => NAMES + ((moment - from) / (to - from)) * (WIDTH - NAMES - 10)
  const height = AXIS + rows.length * ROW + 6
  const ticks = ticksIn(from, to).map(moment => {
    const at = x(moment).toFixed(1)
    return `<line x1="${at}" y1="${AXIS - 4}" x2="${at}" y2="${height}"/><text class="tick" x="${at}" y="14" text-anchor="middle">${hourMinute(moment)}</text>`
  })
  const bars = rows.flatMap((row, index) => rowOf(row, AXIS + index * ROW, x))
  return `<svg role="img" aria-label="timeline" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">${ticks.join('')}${bars.join('')}</svg>`
}

function rowOf(row: Stretch[], y: number, x: (moment: number) => number): string[] {
  const title = firstLine(row[0]?.title ?? '')
  const bars = row.map(({ from, to, as }) => {
    const told = `${title}: ${as}, ${hourMinute(from)} to ${hourMinute(to)} (${duration(to - from)})`
    const wide = Math.max(LEAST, x(to) - x(from)).toFixed(1)
    return `<rect x="${x(from).toFixed(1)}" y="${y + 5}" width="${wide}" height="${BAR}" rx="3" fill="${COLOURS[as]}"><title>${escaped(told)}</title></rect>`
  })
  return [`<text x="0" y="${y + 16}">${escaped(cut(title, LETTERS))}</text>`, ...bars]
}

/** Whole hours, or parts of one, at most a dozen. */
function ticksIn(from: number, to: number): number[] {
  const step = STEPS.find(each => (to - from) / each <= 12) ?? 24 * HOUR_MS
  // By the wall clock: a zone may be half an hour off.
  const offset = new Date(from).getTimezoneOffset() * 60_000
  const first = Math.ceil((from - offset) / step) * step + offset
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, index) => first + index * step)
}
