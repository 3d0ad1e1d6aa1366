import type { TaskView } from '../../../domain/task.ts'
import { cut, neutral } from '../../render/text.ts'
import { stateWord } from '../words.ts'
import { STATE_COLOURS } from './colours.ts'
import { layersOf } from './layers.ts'

const WIDTH = 220
const HEIGHT = 46
const GAP_X = 60
const GAP_Y = 14
const MARGIN = 20
/** About as many letters as fit into a box. */
const LETTERS = 30

/** A picture that every browser shows: a column for each step, a box for each task, a line from each to what comes after it. */
export function drawSvg(tasks: readonly TaskView[]): string {
  const layers = layersOf(tasks)
  const places = new Map<string, { x: number; y: number }>()
  for (const [column, layer] of layers.entries()) {
    for (const [row, { id }] of layer.entries()) {
      places.set(id, { x: MARGIN + column * (WIDTH + GAP_X), y: MARGIN + row * (HEIGHT + GAP_Y) })
    }
  }
  const rows = layers.reduce((most, layer) => Math.max(most, layer.length), 0)
  const width = 2 * MARGIN + Math.max(layers.length, 1) * (WIDTH + GAP_X) - GAP_X
  const height = 2 * MARGIN + Math.max(rows, 1) * (HEIGHT + GAP_Y) - GAP_Y
  const lines = tasks.flatMap(({ id, after }) =>
    after.flatMap(before => lineBetween(places.get(before), places.get(id))),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>',
    '<rect width="100%" height="100%" fill="white"/>',
    ...lines,
    ...tasks.flatMap(task => boxOf(task, places.get(task.id))),
    '</svg>',
  ].join('\n')
}

type Place = { x: number; y: number } | undefined

function lineBetween(from: Place, to: Place): string[] {
  if (!from || !to) return []
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2]
  const bend = (x1 + x2) / 2
  return [
    `<path d="M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}" fill="none" stroke="#666" marker-end="url(#arrow)"/>`,
  ]
}

function boxOf(task: TaskView, place: Place): string[] {
  if (!place) return []
  const { x, y } = place
  const [fill, line] = STATE_COLOURS[task.state]
  return [
    `<g><title>${escaped(neutral(task.title))}</title>`,
    `<rect x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="6" fill="${fill}" stroke="${line}"/>`,
    `<text x="${x + 10}" y="${y + 19}" font-size="13">${escaped(cut(neutral(task.title), LETTERS))}</text>`,
    `<text x="${x + 10}" y="${y + 36}" font-size="11" fill="#555">${task.id} · ${stateWord(task)}</text></g>`,
  ]
}

/** Text as it stands in a page or a picture. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}
