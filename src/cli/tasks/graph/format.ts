/** How a graph can be drawn. */
export const GRAPH_FORMATS = ['text', 'dot', 'mermaid', 'svg'] as const
export type GraphFormat = (typeof GRAPH_FORMATS)[number]
