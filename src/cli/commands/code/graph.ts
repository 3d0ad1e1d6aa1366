import { resolve } from 'node:path'
import type { Command } from 'commander'
import { neutral } from '../../../base/neutral.ts'
import { type GraphEdge, type GraphNode, type RelatedAnswer, toMermaid } from '../../../knowledge/graph/ask-graph.ts'
import { openClient } from '../../connection/client.ts'
import { commandContext } from '../../context.ts'
import { optionParser } from '../../options.ts'
import type { Terminal } from '../../render/text.ts'
import { type CodeState, describeState } from './search.ts'

interface GraphOptions {
  depth: number
  mermaid?: true
  project?: string
}

/** `pcc graph`: what is connected with a file or a definition. */
export function addGraphCommand(program: Command): void {
  program
    .command('graph')
    .description(
      'Show what is connected with a file or a definition: imports, calls, inheritance, changes in the same commits',
    )
    .argument('<name>', 'a path of the project, or a name such as saveOrder or Store.save')
    .option('--depth <n>', 'how many steps away, 1 to 4', parseDepth, 2)
    .option('--mermaid', 'print a diagram for Mermaid')
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--json', 'print JSON')
    .action(async (entity: string, { depth, mermaid, ...options }: GraphOptions, command: Command) => {
      const { json, out, terminal, ...context } = await commandContext(command)
      const project = resolve(options.project ?? '.')
      const query = new URLSearchParams({ project, entity, depth: String(depth) })
      const client = await openClient(context.paths, context)
      const found = await client.request<RelatedAnswer & CodeState>('GET', `/code/graph?${query}`)
      if (json) return out(JSON.stringify(found, null, 2))
      for (const line of mermaid ? [toMermaid(found)] : graphLines(found, terminal)) out(line)
    })
}

const parseDepth = optionParser(text => (/^[1-4]$/.test(text) ? Number(text) : undefined), 'It must be 1, 2, 3 or 4.')

/** A tree from what was asked about: each connection once, and all between two nodes on one line. A node that was shown before is named again, without what is below it. */
export function graphLines(found: RelatedAnswer & CodeState, { paint }: Terminal): string[] {
  const nodes = new Map(found.nodes.map(node => [node.id, node]))
  const shown = new Set<string>()
  const lines: string[] = []
  const used = new Set<GraphEdge>()
  const draw = (id: string, indent: string, how: string, above?: string) => {
    const node = nodes.get(id)
    if (!node) return
    lines.push(`${indent}${how === '' ? '' : `${paint('dim', how)} `}${nameOf(node, above, paint)}`)
    if (shown.has(id)) return
    shown.add(id)
    const below = new Map<string, string[]>()
    for (const edge of found.edges) {
      if (used.has(edge) || (edge.from !== id && edge.to !== id)) continue
      used.add(edge)
      const [other, kind] = edge.from === id ? [edge.to, edge.kind] : [edge.from, BACKWARDS[edge.kind]]
      below.set(other, [...(below.get(other) ?? []), kind])
    }
    for (const [other, kinds] of below) draw(other, `${indent}  `, [...new Set(kinds)].join(', '), node.path)
  }
  for (const id of found.start) draw(id, '', '')
  const more = found.isCut ? ['There is more: ask about one of these, or with a smaller --depth.'] : []
  return [...lines, '', ...more, paint('dim', `${describeState(found)} (${found.note})`)]
}

const BACKWARDS: Record<GraphEdge['kind'], string> = {
  imports: 'imported by',
  defines: 'defined in',
  calls: 'called by',
  inherits: 'inherited by',
  'changed with': 'changed with',
}

/** A definition in the file of the line above needs no path. */
function nameOf({ kind, name, path, line }: GraphNode, above: string | undefined, paint: Terminal['paint']): string {
  if (kind === 'file') return neutral(path)
  const place = path === above ? `line ${line}` : `${neutral(path)}:${line}`
  return `${paint('bold', neutral(name))} ${paint('dim', `${kind}, ${place}`)}`
}
