/** What the agent's own tools do, as far as this policy looks at them. A tool that is not listed is unknown and asked about. */
export type ToolUse =
  | { does: 'read' | 'write'; paths: string[] }
  | { does: 'search'; base: string | undefined; glob: string | undefined; reads: boolean }
  | { does: 'nothing' }
  | { does: 'command'; command: string }
  | { does: 'web' }
  | { does: 'unknown' }

/** Tools that only order the agent's own work: notes, plans, subagents (whose calls are judged one by one), waiting, output. */
const HARMLESS = new Set([
  'TodoWrite',
  'TodoRead',
  'Task',
  'Agent',
  'ToolSearch',
  'Skill',
  'EnterPlanMode',
  'ExitPlanMode',
  'BashOutput',
  'TaskOutput',
  'AgentOutputTool',
  'KillShell',
  'KillBash',
  'TaskStop',
  'TaskCreate',
  'TaskGet',
  'TaskList',
  'TaskUpdate',
  'StructuredOutput',
  'ReportFindings',
])

const FILE_KEYS: Record<string, { does: 'read' | 'write'; key: string }> = {
  Read: { does: 'read', key: 'file_path' },
  NotebookRead: { does: 'read', key: 'notebook_path' },
  LS: { does: 'read', key: 'path' },
  Write: { does: 'write', key: 'file_path' },
  Edit: { does: 'write', key: 'file_path' },
  MultiEdit: { does: 'write', key: 'file_path' },
  NotebookEdit: { does: 'write', key: 'notebook_path' },
}

/** Reads a tool call. Whatever does not have the expected shape is `unknown`, never guessed. */
export function useOf(tool: string, input: Record<string, unknown>): ToolUse {
  if (HARMLESS.has(tool)) return { does: 'nothing' }
  const file = Object.hasOwn(FILE_KEYS, tool) ? FILE_KEYS[tool] : undefined
  if (file) {
    const path = input[file.key]
    return typeof path === 'string' && path !== '' ? { does: file.does, paths: [path] } : { does: 'unknown' }
  }
  if (tool === 'Glob') return searchOf(input['path'], input['pattern'], false)
  if (tool === 'Grep') return searchOf(input['path'], input['glob'], true)
  if (tool === 'Bash' && typeof input['command'] === 'string') return { does: 'command', command: input['command'] }
  if (tool === 'WebFetch' || tool === 'WebSearch') return { does: 'web' }
  return { does: 'unknown' }
}

function searchOf(base: unknown, glob: unknown, reads: boolean): ToolUse {
  if (base !== undefined && typeof base !== 'string') return { does: 'unknown' }
  if (glob !== undefined && typeof glob !== 'string') return { does: 'unknown' }
  return { does: 'search', base: base || undefined, glob, reads }
}
