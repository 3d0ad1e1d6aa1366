import type { FileContext, RelatedAnswer } from '../../knowledge/graph/ask-graph.ts'
import type { CodeAnswer } from './code-search.ts'

type IsShown = (path: string) => boolean

/** Search results without files that must not be shown. */
export function hideInResults(results: CodeAnswer['results'], isShown: IsShown): CodeAnswer['results'] {
  return results
    .filter(({ file_path }) => isShown(file_path))
    .map(({ neighbours: near, ...result }) => ({
      ...result,
      ...(near && {
        neighbours: {
          uses: near.uses.filter(isShown),
          used_by: near.used_by.filter(isShown),
          changed_with: near.changed_with.filter(isShown),
        },
      }),
    }))
}

/** An answer of the graph without files that must not be shown; undefined if the question was about one of them. */
export function hideInRelated(answer: RelatedAnswer, isShown: IsShown): RelatedAnswer | undefined {
  const nodes = answer.nodes.filter(({ path }) => isShown(path))
  const kept = new Set(nodes.map(({ id }) => id))
  const start = answer.start.filter(id => kept.has(id))
  const edges = answer.edges.filter(({ from, to }) => kept.has(from) && kept.has(to))
  return start.length === 0 ? undefined : { ...answer, start, nodes, edges }
}

/** The same for the surroundings of a file. */
export function hideInContext(context: FileContext, isShown: IsShown): FileContext | undefined {
  if (!isShown(context.path)) return undefined
  return {
    ...context,
    imports: context.imports.map(({ from, paths }) => ({ from, paths: paths.filter(isShown) })),
    importedBy: context.importedBy.filter(isShown),
    callers: context.callers.filter(({ path }) => isShown(path)),
    changedWith: context.changedWith.filter(({ path }) => isShown(path)),
  }
}
