import { unreachable } from '../../../base/errors.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { Terminal } from '../../render/paint.ts'
import { neutral } from '../../render/text.ts'
import { STATE_LOOKS, stateWord } from '../words.ts'
import { STATE_COLOURS } from './colours.ts'
import type { GraphFormat } from './format.ts'
import { layersOf } from './layers.ts'
import { drawSvg } from './svg.ts'

/** A picture of tasks and of what comes after what. */
export function drawGraph(tasks: readonly TaskView[], format: GraphFormat, terminal: Terminal): string {
  switch (format) {
    case 'text':
      return text(tasks, terminal)
    case 'dot':
      return dot(tasks)
    case 'mermaid':
      return mermaid(tasks)
    case 'svg':
      return drawSvg(tasks)
    default:
      return unreachable(format)
  }
}

/** The same for programs: who is there, who comes after whom, who is a part of whom. */
export function graphJson(tasks: readonly TaskView[]) {
  const nodes = tasks.map(({ id, title, state, verification, parent_id }) => ({
    id,
    title,
    state,
    verification,
    parent_id,
  }))
  return { nodes, edges: edgesOf(tasks) }
}

/** What comes after what, among the tasks that are shown. */
function edgesOf(tasks: readonly TaskView[]): { from: string; to: string }[] {
  const ids = new Set(tasks.map(({ id }) => id))
  return tasks.flatMap(({ id, after }) => after.filter(from => ids.has(from)).map(from => ({ from, to: id })))
}

/** Step by step: what can run at once stands together. */
function text(tasks: readonly TaskView[], { paint }: Terminal): string {
  if (tasks.length === 0) return 'No tasks here yet.'
  return layersOf(tasks)
    .map((layer, index) => {
      const lines = layer.map(task => {
        const { glyph, tone } = STATE_LOOKS[task.state]
        const after = task.after.length > 0 ? paint('dim', `  ← ${task.after.join(', ')}`) : ''
        const part = task.parent_id === null ? '' : paint('dim', `  in ${task.parent_id}`)
        return `  ${paint(tone, glyph)} ${task.id} ${neutral(task.title)}: ${stateWord(task)}${after}${part}`
      })
      return [paint('bold', `Step ${index + 1}`), ...lines].join('\n')
    })
    .join('\n')
}

function dot(tasks: readonly TaskView[]): string {
  const nodes = tasks.map(task => {
    const [fill, line] = STATE_COLOURS[task.state]
    const label = quoted(`${task.title}\n${task.id} · ${stateWord(task)}`)
    return `  ${quoted(task.id)} [label=${label}, fillcolor="${fill}", color="${line}"]`
  })
  const ids = new Set(tasks.map(({ id }) => id))
  const parts = tasks.filter(({ parent_id }) => parent_id !== null && ids.has(parent_id))
  return [
    'digraph tasks {',
    '  rankdir=LR',
    '  node [shape=box, style="rounded,filled", fontname="sans-serif"]',
    ...nodes,
    ...edgesOf(tasks).map(({ from, to }) => `  ${quoted(from)} -> ${quoted(to)}`),
    ...parts.map(
      ({ id, parent_id }) => `  ${quoted(id)} -> ${quoted(parent_id ?? '')} [style=dashed, arrowhead=odiamond]`,
    ),
    '}',
  ].join('\n')
}

function quoted(text: string): string {
  const plain = neutral(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
  return `"${plain}"`
}

function mermaid(tasks: readonly TaskView[]): string {
  const names = new Map(tasks.map(({ id }) => [id, id.replaceAll('-', '_')]))
  const name = (id: string) => names.get(id) ?? id
  const states = [...new Set(tasks.map(({ state }) => state))]
  return [
    'flowchart LR',
    ...tasks.map(
      task => `  ${name(task.id)}["${escaped(task.title)}<br/>${task.id} · ${stateWord(task)}"]:::${task.state}`,
    ),
    ...edgesOf(tasks).map(({ from, to }) => `  ${name(from)} --> ${name(to)}`),
    ...tasks.flatMap(({ id, parent_id }) =>
      parent_id !== null && names.has(parent_id) ? [`  ${name(id)} -.-o ${name(parent_id)}`] : [],
    ),
    ...states.map(state => `  classDef ${state} fill:${STATE_COLOURS[state][0]},stroke:${STATE_COLOURS[state][1]}`),
  ].join('\n')
}

/** A title is text to the one who draws it: no quote, tag or entity of it counts. */
function escaped(text: string): string {
  return neutral(text).replace(/[&<>"#;`\\{}[\]()|]/g, char => `#${char.charCodeAt(0)};`)
}
