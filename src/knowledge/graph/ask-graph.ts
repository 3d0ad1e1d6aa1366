import type { CodeDefinition } from '../../base/syntax/parsed-file.ts'
import type { IndexFile } from '../index/index-file.ts'
import { CodeGraph, type DefinedIn, type FoundCall, keyOf, qualified } from './code-graph.ts'
import { type ChangedWith, changedWith } from './graph-tables.ts'

/** Said with every answer of the graph. */
const GRAPH_NOTE = 'syntactic: may miss dynamic calls'

export interface GraphNode {
  /** The path of a file; `path#Class.method` for a definition. */
  id: string
  kind: 'file' | CodeDefinition['kind']
  name: string
  path: string
  line?: number
}

export interface GraphEdge {
  from: string
  to: string
  kind: 'imports' | 'defines' | 'calls' | 'inherits' | 'changed with'
}

export interface RelatedAnswer {
  /** What the question named: a file, or every definition of the name. */
  start: string[]
  nodes: GraphNode[]
  edges: GraphEdge[]
  /** There is more than was returned. */
  isCut: boolean
  note: string
}

export interface FileContext {
  path: string
  language: string
  imports: { from: string; paths: string[] }[]
  exports: { name: string; signature: string; line: number }[]
  importedBy: string[]
  callers: FoundCall[]
  changedWith: ChangedWith[]
  note: string
}

/** A file that a change may affect, and by what. */
export interface AffectedFile {
  path: string
  /** How many steps it is away. */
  distance: number
  why: string
}

const MOST_NODES = 120
const MOST_DEPTH = 4
const MOST_CALLERS = 100
const MOST_CHANGED_WITH = 8
const MOST_AFFECTED = 200

/** Everything within some steps of a file or a definition; undefined if the index has no such name. */
export function related(index: IndexFile, entity: string, depth = 2): RelatedAnswer | undefined {
  const graph = new CodeGraph(index)
  const path = entity.replace(/^\.\//, '')
  const start = graph.has(path) ? [fileNode(path)] : graph.find(entity).map(definitionNode)
  if (start.length === 0) return undefined
  const nodes = new Map(start.map(node => [node.id, node]))
  const edges = new Map<string, GraphEdge>()
  let isCut = false
  let border = start
  for (let step = 0; step < Math.min(depth, MOST_DEPTH); step += 1) {
    const next: GraphNode[] = []
    for (const node of border) {
      for (const { edge, to } of neighboursOf(node, graph, index)) {
        if (!nodes.has(to.id)) {
          if (nodes.size >= MOST_NODES) {
            isCut = true
            continue
          }
          nodes.set(to.id, to)
          next.push(to)
        }
        edges.set(`${edge.from} ${edge.kind} ${edge.to}`, edge)
      }
    }
    border = next
  }
  return {
    start: start.map(({ id }) => id),
    nodes: [...nodes.values()],
    edges: [...edges.values()],
    isCut,
    note: GRAPH_NOTE,
  }
}

/** What somebody who changes a file should know: what it uses, what it offers, and who uses that. */
export function fileContext(index: IndexFile, path: string): FileContext | undefined {
  const graph = new CodeGraph(index)
  const parsed = graph.parsed(path)
  if (!parsed) return undefined
  const exported = parsed.definitions.filter(definition => definition.exported)
  const callers = exported.flatMap(definition => graph.callers({ path, definition }))
  return {
    path,
    language: parsed.language,
    imports: graph.imports(path).map(({ from, paths }) => ({ from, paths })),
    exports: exported.map(({ name, signature, startLine }) => ({ name, signature, line: startLine })),
    importedBy: graph.importers(path),
    callers: callers.filter(caller => caller.path !== path).slice(0, MOST_CALLERS),
    changedWith: changedWith(index, path, MOST_CHANGED_WITH),
    note: GRAPH_NOTE,
  }
}

/** The files that a change of a file or a definition may affect: who calls, inherits or imports it, who uses those, and what history changed with it. */
export function impactOf(index: IndexFile, entity: string, depth = 2): AffectedFile[] | undefined {
  const graph = new CodeGraph(index)
  const start = graph.has(entity) ? undefined : graph.find(entity)
  const paths = start ? start.map(({ path }) => path) : [entity]
  if (paths.length === 0) return undefined
  const affected = new Map<string, AffectedFile>()
  const add = (path: string, distance: number, why: string) => {
    if (paths.includes(path) || affected.has(path) || affected.size >= MOST_AFFECTED) return []
    affected.set(path, { path, distance, why })
    return [path]
  }
  let border = start
    ? start.flatMap(found => [
        ...graph
          .callers(found)
          .flatMap(caller => add(caller.path, 1, `calls ${qualified(found.definition)} in line ${caller.line}`)),
        ...graph
          .heirs(found)
          .flatMap(heir => add(heir.path, 1, `${heir.definition.name} inherits ${found.definition.name}`)),
      ])
    : graph.importers(entity).flatMap(path => add(path, 1, `imports ${entity}`))
  for (let distance = 2; distance <= Math.min(depth, MOST_DEPTH); distance += 1)
    border = border.flatMap(path => graph.importers(path).flatMap(other => add(other, distance, `imports ${path}`)))
  for (const path of paths)
    for (const { path: other, commits } of changedWith(index, path, MOST_CHANGED_WITH))
      add(other, 1, `${commits} commits changed it together with ${path}`)
  return [...affected.values()]
}

function* neighboursOf(
  node: GraphNode,
  graph: CodeGraph,
  index: IndexFile,
): Generator<{ edge: GraphEdge; to: GraphNode }> {
  if (node.kind === 'file') {
    for (const path of new Set(graph.imports(node.path).flatMap(({ paths }) => paths)))
      yield step(node, 'imports', fileNode(path))
    for (const path of graph.importers(node.path)) yield step(fileNode(path), 'imports', node, node)
    for (const definition of graph.parsed(node.path)?.definitions ?? [])
      if (definition.container === undefined)
        yield step(node, 'defines', definitionNode({ path: node.path, definition }))
    for (const { path } of changedWith(index, node.path, MOST_CHANGED_WITH))
      yield step(node, 'changed with', fileNode(path))
    return
  }
  const own = graph.find(node.name).find(found => keyOf(found) === node.id)
  if (!own) return
  for (const found of graph.calls(own)) yield step(node, 'calls', definitionNode(found))
  for (const caller of graph.callers(own)) {
    const around =
      caller.inside === undefined ? undefined : graph.find(caller.inside).find(({ path }) => path === caller.path)
    const from = around ? definitionNode(around) : fileNode(caller.path)
    if (from.id !== node.id) yield step(from, 'calls', node, node)
  }
  for (const found of graph.bases(own)) yield step(node, 'inherits', definitionNode(found))
  for (const found of graph.heirs(own)) yield step(definitionNode(found), 'inherits', node, node)
  yield step(fileNode(node.path), 'defines', node, node)
}

/** An edge, and which of its ends is the new one: the one that is not `at`. */
function step(
  from: GraphNode,
  kind: GraphEdge['kind'],
  to: GraphNode,
  at: GraphNode = from,
): { edge: GraphEdge; to: GraphNode } {
  return { edge: { from: from.id, to: to.id, kind }, to: at === from ? to : from }
}

function fileNode(path: string): GraphNode {
  return { id: path, kind: 'file', name: path.slice(path.lastIndexOf('/') + 1), path }
}

function definitionNode(found: DefinedIn): GraphNode {
  const { definition, path } = found
  return { id: keyOf(found), kind: definition.kind, name: qualified(definition), path, line: definition.startLine }
}

/** An answer as a diagram of Mermaid. */
export function toMermaid({ nodes, edges }: Pick<RelatedAnswer, 'nodes' | 'edges'>): string {
  const ids = new Map(nodes.map(({ id }, at) => [id, `n${at}`]))
  const label = ({ kind, name, path }: GraphNode) => (kind === 'file' ? path : `${name}\\n${path}`).replaceAll('"', "'")
  return [
    'graph LR',
    ...nodes.map(node => `  ${ids.get(node.id)}["${label(node)}"]`),
    ...edges.map(({ from, to, kind }) => `  ${ids.get(from)} -->|${kind}| ${ids.get(to)}`),
  ].join('\n')
}
