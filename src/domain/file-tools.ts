// Without zod, so that drawing events need not load it.

export interface FileTool {
  name: string
  does: 'read' | 'write'
  /** The fields of its input that may name the file; the first is the usual one. */
  keys: readonly string[]
}

const TOOLS: readonly FileTool[] = [
  { name: 'Read', does: 'read', keys: ['file_path'] },
  { name: 'NotebookRead', does: 'read', keys: ['notebook_path', 'file_path'] },
  { name: 'LS', does: 'read', keys: ['path'] },
  { name: 'Write', does: 'write', keys: ['file_path'] },
  { name: 'Edit', does: 'write', keys: ['file_path'] },
  { name: 'MultiEdit', does: 'write', keys: ['file_path'] },
  { name: 'NotebookEdit', does: 'write', keys: ['notebook_path', 'file_path'] },
]

/** The agents' tools that work on one file, by their names. Drivers give the tools of other vendors these names. */
export const FILE_TOOLS: ReadonlyMap<string, FileTool> = new Map(TOOLS.map(tool => [tool.name, tool]))

/** The names of those that write the file that they are given. */
export const WRITING_TOOLS: ReadonlySet<string> = new Set(
  TOOLS.flatMap(({ name, does }) => (does === 'write' ? [name] : [])),
)
