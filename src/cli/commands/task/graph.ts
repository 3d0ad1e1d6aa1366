import { unreachable } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import type { TaskState, TaskView } from '../../../domain/task.ts'
import { cut, type Terminal } from '../../render/text.ts'
import { type GraphFormat, STATE_LOOKS, stateWord } from './lines.ts'

/** Draws tasks and their dependencies. */
export function drawGraph(tasks: readonly TaskView[], format: GraphFormat, terminal: Terminal): string {
  switch (format) {
    case 'text':
      return drawText(tasks, terminal)
    case 'dot':
      return drawDot(tasks)
    case 'mermaid':
      return drawMermaid(tasks)
    case 'svg':
      return drawSvg(tasks)
    default:
      return unreachable(format)
  }
}

/** The graph for programs: the tasks, their parents, and what comes after what. */
export function graphJson(tasks: readonly TaskView[]) {
  const nodes = tasks.map(({ id, title, state, verification, parent_id }) => ({
    id,
    title,
    state,
    verification,
    parent_id,
  }))
  return { nodes, edges: findEdges(tasks) }
}

/** The dependencies among the tasks that are shown. */
function findEdges(tasks: readonly TaskView[]): { from: string; to: string }[] {
  const ids = new Set(tasks.map(({ id }) => id))
  return tasks.flatMap(({ id, after }) => after.filter(from => ids.has(from)).map(from => ({ from, to: id })))
}

/** Step by step: tasks that can run at the same time are in one step. */
function drawText(tasks: readonly TaskView[], { paint }: Terminal): string {
  if (tasks.length === 0) return 'No tasks here yet.'
  const names = new Map(tasks.map(({ id, alias }) => [id, alias ?? id]))
  const { layers, stuck } = findLayers(tasks)
  const steps = layers.map((layer, index) => ({ layer, name: `Step ${index + 1}` }))
  return [...steps, ...(stuck.length > 0 ? [{ layer: stuck, name: 'Cannot begin' }] : [])]
    .map(({ layer, name }) => {
      const lines = layer.map(task => {
        const { glyph, tone } = STATE_LOOKS[task.state]
        const after =
          task.after.length > 0
            ? paint('dim', `  ← ${task.after.map(id => neutral(names.get(id) ?? id)).join(', ')}`)
            : ''
        const part = task.parent_id === null ? '' : paint('dim', `  in ${task.parent_id}`)
        const alias = task.alias === null ? '' : ` (${neutral(task.alias)})`
        return `  ${paint(tone, glyph)} ${task.id}${alias} ${neutral(task.title)}: ${stateWord(task)}${after}${part}`
      })
      return [paint('bold', name), ...lines].join('\n')
    })
    .join('\n')
}

function drawDot(tasks: readonly TaskView[]): string {
  const nodes = tasks.map(task => {
    const [fill, line] = STATE_COLOURS[task.state]
    const label = quoteForDot(`${task.title}\n${task.id} · ${stateWord(task)}`)
    return `  ${quoteForDot(task.id)} [label=${label}, fillcolor="${fill}", color="${line}"]`
  })
  const ids = new Set(tasks.map(({ id }) => id))
  const parts = tasks.filter(({ parent_id }) => parent_id !== null && ids.has(parent_id))
  return [
    'digraph tasks {',
    '  rankdir=LR',
    '  node [shape=box, style="rounded,filled", fontname="sans-serif"]',
    ...nodes,
    ...findEdges(tasks).map(({ from, to }) => `  ${quoteForDot(from)} -> ${quoteForDot(to)}`),
    ...parts.map(
      ({ id, parent_id }) =>
        `  ${quoteForDot(id)} -> ${quoteForDot(parent_id ?? '')} [style=dashed, arrowhead=odiamond]`,
    ),
    '}',
  ].join('\n')
}

function quoteForDot(text: string): string {
  const plain = neutral(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
  return `"${plain}"`
}

function drawMermaid(tasks: readonly TaskView[]): string {
  const names = new Map(tasks.map(({ id }) => [id, id.replaceAll('-', '_')]))
  const name = (id: string) => names.get(id) ?? id
  const states = [...new Set(tasks.map(({ state }) => state))]
  return [
    'flowchart LR',
    ...tasks.map(
      task => `  ${name(task.id)}["${escapeMermaid(task.title)}<br/>${task.id} · ${stateWord(task)}"]:::${task.state}`,
    ),
    ...findEdges(tasks).map(({ from, to }) => `  ${name(from)} --> ${name(to)}`),
    ...tasks.flatMap(({ id, parent_id }) =>
      parent_id !== null && names.has(parent_id) ? [`  ${name(id)} -.-o ${name(parent_id)}`] : [],
    ),
    ...states.map(state => `  classDef ${state} fill:${STATE_COLOURS[state][0]},stroke:${STATE_COLOURS[state][1]}`),
  ].join('\n')
}

/** Escapes a title so that Mermaid takes it as plain text, without quotes, tags or entities. */
function escapeMermaid(text: string): string {
  return neutral(text).replace(/[&<>"#;`\\{}[\]()|]/g, char => `#${char.charCodeAt(0)};`)
}

const BOX_WIDTH = 220
const BOX_HEIGHT = 46
const GAP_X = 60
const GAP_Y = 14
const MARGIN = 20
/** About as many letters as fit into a box. */
const TITLE_LETTERS = 30

/** Draws an SVG: a column for each step, a box for each task, and an arrow from each task to those that come after it. */
export function drawSvg(tasks: readonly TaskView[]): string {
  const found = findLayers(tasks)
  const layers = found.stuck.length > 0 ? [...found.layers, found.stuck] : found.layers
  const columnOf = new Map(layers.flatMap((layer, column) => layer.map(({ id }) => [id, column] as const)))
  const lanes = findLanes(tasks, columnOf)
  const at = (column: number, row: number) => ({
    x: MARGIN + column * (BOX_WIDTH + GAP_X),
    y: MARGIN + row * (BOX_HEIGHT + GAP_Y),
  })
  const positions = new Map(
    layers.flatMap((layer, column) => layer.map(({ id }, row) => [id, at(column, row)] as const)),
  )
  const laneAt = (column: number, from: string) =>
    at(column, (layers[column]?.length ?? 0) + [...(lanes.get(column) ?? [])].indexOf(from))
  const rows = layers.reduce((most, layer, column) => Math.max(most, layer.length + (lanes.get(column)?.size ?? 0)), 0)
  const width = 2 * MARGIN + Math.max(layers.length, 1) * (BOX_WIDTH + GAP_X) - GAP_X
  const height = 2 * MARGIN + Math.max(rows, 1) * (BOX_HEIGHT + GAP_Y) - GAP_Y
  const arrows = findEdges(tasks).flatMap(({ from, to }) => {
    const between = columnsBetween(columnOf.get(from), columnOf.get(to)).map(column => laneAt(column, from))
    return drawArrow(positions.get(from), positions.get(to), between)
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>',
    '<rect width="100%" height="100%" fill="white"/>',
    ...arrows,
    ...tasks.flatMap(task => drawBox(task, positions.get(task.id))),
    '</svg>',
  ].join('\n')
}

/** The tasks whose arrows pass each column: they get a row of their own there, so that no arrow runs under a box. */
function findLanes(tasks: readonly TaskView[], columnOf: ReadonlyMap<string, number>): Map<number, Set<string>> {
  const lanes = new Map<number, Set<string>>()
  for (const { from, to } of findEdges(tasks))
    for (const column of columnsBetween(columnOf.get(from), columnOf.get(to)))
      lanes.set(column, (lanes.get(column) ?? new Set()).add(from))
  return lanes
}

function columnsBetween(from = 0, to = 0): number[] {
  return Array.from({ length: Math.max(0, to - from - 1) }, (_, index) => from + 1 + index)
}

type Position = { x: number; y: number } | undefined

function drawArrow(from: Position, to: Position, between: NonNullable<Position>[]): string[] {
  if (!from || !to) return []
  const middle = (y: number) => y + BOX_HEIGHT / 2
  let [x, y] = [from.x + BOX_WIDTH, middle(from.y)]
  const curves = [...between, to].map(next => {
    const [bend, end] = [(x + next.x) / 2, middle(next.y)]
    const curve = `C${bend} ${y} ${bend} ${end} ${next.x} ${end}${next === to ? '' : `H${next.x + BOX_WIDTH}`}`
    ;[x, y] = [next.x + BOX_WIDTH, end]
    return curve
  })
  const path = `M${from.x + BOX_WIDTH} ${middle(from.y)}${curves.join('')}`
  return [`<path d="${path}" fill="none" stroke="#666" marker-end="url(#arrow)"/>`]
}

function drawBox(task: TaskView, position: Position): string[] {
  if (!position) return []
  const { x, y } = position
  const [fill, line] = STATE_COLOURS[task.state]
  return [
    `<g><title>${escapeXml(neutral(task.title))}</title>`,
    `<rect x="${x}" y="${y}" width="${BOX_WIDTH}" height="${BOX_HEIGHT}" rx="6" fill="${fill}" stroke="${line}"/>`,
    `<text x="${x + 10}" y="${y + 19}" font-size="13">${escapeXml(cut(neutral(task.title), TITLE_LETTERS))}</text>`,
    `<text x="${x + 10}" y="${y + 36}" font-size="11" fill="#555">${task.id} · ${stateWord(task)}</text></g>`,
  ]
}

/** Escapes text for HTML or SVG. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
}

/**
 * Groups tasks into steps: each task is one step after the last task that it comes after. `stuck` are those that come after a task that is
 * not shown and not done, and all that come after them.
 */
function findLayers(tasks: readonly TaskView[]): { layers: TaskView[][]; stuck: TaskView[] } {
  const byId = new Map(tasks.map(task => [task.id, task]))
  const dependents = new Map<string, TaskView[]>()
  const missing = new Map<string, number>()
  for (const task of tasks) {
    const blockers = task.after.filter(id => byId.has(id))
    missing.set(task.id, blockers.length + (isHeldFromOutside(task, byId) ? 1 : 0))
    for (const id of blockers) {
      const others = dependents.get(id)
      if (others) others.push(task)
      else dependents.set(id, [task])
    }
  }
  const layers: TaskView[][] = []
  for (let layer = tasks.filter(({ id }) => missing.get(id) === 0); layer.length > 0; ) {
    layers.push(layer)
    const next: TaskView[] = []
    for (const task of layer.flatMap(({ id }) => dependents.get(id) ?? [])) {
      const left = (missing.get(task.id) ?? 0) - 1
      missing.set(task.id, left)
      if (left === 0) next.push(task)
    }
    layer = next
  }
  return { layers, stuck: tasks.filter(({ id }) => (missing.get(id) ?? 0) > 0) }
}

/** Whether a task has more open blockers than those that are shown and a parent that is blocked. */
function isHeldFromOutside(task: TaskView, shown: ReadonlyMap<string, TaskView>): boolean {
  const known = task.after.flatMap(id => shown.get(id) ?? [])
  if (task.state !== 'blocked' || known.length === task.after.length) return false
  const open = known.filter(({ state }) => state !== 'done').length
  return task.open_blockers > open + ((shown.get(task.parent_id ?? '')?.open_blockers ?? 0) > 0 ? 1 : 0)
}

/** The fill and line colours of each state in pictures. */
const STATE_COLOURS = {
  blocked: ['#eeeeee', '#888888'],
  ready: ['#e3f2fd', '#1565c0'],
  running: ['#fff8e1', '#ff8f00'],
  waiting: ['#fff3e0', '#ef6c00'],
  verifying: ['#e0f7fa', '#00838f'],
  merging: ['#e0f7fa', '#00838f'],
  done: ['#e8f5e9', '#2e7d32'],
  failed: ['#ffebee', '#c62828'],
  cancelled: ['#f5f5f5', '#bdbdbd'],
} as const satisfies Record<TaskState, readonly [string, string]>
