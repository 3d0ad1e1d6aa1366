import { FILE_TOOLS, type FileTool } from '../../domain/file-tools.ts'

/** What a call of one of the agent's tools does, as far as the policy cares. */
export type ToolUse =
  | { does: 'read'; path: string }
  /** `text` is everything that it puts into the file; `edits` is left out if that is all that is in it then. */
  | { does: 'write'; path: string; text: string; edits?: readonly TextEdit[] }
  | { does: 'search'; base: string | undefined; glob: string | undefined; reads: boolean }
  /** `unfenced`: the call asks to run outside of the vendor's sandbox. */
  | { does: 'command'; command: string; unfenced: boolean }
  | { does: 'nothing' }
  | { does: 'fetch'; url: string; prompt: string }
  | { does: 'look-up' }
  | { does: 'server'; server: string; tool: string }
  | { does: 'unknown'; why: string }

/** One replacement of a text in a file. */
export interface TextEdit {
  from: string
  to: string
  all: boolean
}

/** The agent's own harmless tools: notes, plans, subagents (whose calls are judged one by one), waiting, output. */
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
  'AskUserQuestion',
  'ListMcpResourcesTool',
])

/** Every tool that the policy knows by its name. */
export const KNOWN_TOOLS: readonly string[] = [
  'Bash',
  'Monitor',
  'Glob',
  'Grep',
  'WebFetch',
  'WebSearch',
  ...FILE_TOOLS.keys(),
  ...HARMLESS,
]

/** Reads a tool call. Input of an unexpected shape is `unknown`; nothing is guessed. */
export function readToolUse(tool: string, input: unknown): ToolUse {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return { does: 'unknown', why: 'its input is no object' }
  const fields = input as Record<string, unknown>
  if (HARMLESS.has(tool)) return { does: 'nothing' }
  const file = FILE_TOOLS.get(tool)
  if (file) return readFileUse(file, fields)
  if (tool === 'Glob') return readSearchUse(fields['path'], fields['pattern'], false)
  if (tool === 'Grep') return readSearchUse(fields['path'], fields['glob'], true)
  if (tool === 'Bash' || tool === 'Monitor') {
    const { command, dangerouslyDisableSandbox: off } = fields
    return typeof command === 'string'
      ? { does: 'command', command, unfenced: off !== undefined && off !== false && off !== null }
      : { does: 'unknown', why: 'its command is no text' }
  }
  if (tool === 'WebSearch') return { does: 'look-up' }
  if (tool === 'WebFetch')
    return typeof fields['url'] === 'string'
      ? { does: 'fetch', url: fields['url'], prompt: String(fields['prompt'] ?? '').slice(0, 10_000) }
      : { does: 'unknown', why: 'its address is no text' }
  const [, server, name] = /^mcp__(.+?)__(.+)$/s.exec(tool) ?? []
  if (server !== undefined && name !== undefined) return { does: 'server', server, tool: name }
  return { does: 'unknown', why: `${tool} is not a tool the policy knows` }
}

function readFileUse(file: FileTool, fields: Record<string, unknown>): ToolUse {
  for (const key of file.keys) {
    const path = fields[key]
    if (path === undefined) continue
    if (typeof path !== 'string' || path === '') return { does: 'unknown', why: 'its path is no text' }
    if (file.does === 'read') return { does: 'read', path }
    const edits = readEdits(fields)
    return { does: 'write', path, text: readWritten(fields), ...(edits && { edits }) }
  }
  return { does: 'unknown', why: 'it names no file' }
}

function readWritten({ content, new_string, new_source, edits }: Record<string, unknown>): string {
  const several = Array.isArray(edits)
    ? edits.map((edit: unknown) => (edit as { new_string?: unknown })?.new_string)
    : []
  return [content, new_string, new_source, ...several].filter(text => typeof text === 'string').join('\n')
}

function readEdits({ content, edits, ...single }: Record<string, unknown>): TextEdit[] | undefined {
  if (typeof content === 'string') return undefined
  return (Array.isArray(edits) ? edits : [single]).map((edit: Record<string, unknown> | null) => ({
    from: String(edit?.['old_string'] ?? ''),
    to: String(edit?.['new_string'] ?? ''),
    all: edit?.['replace_all'] === true,
  }))
}

function readSearchUse(base: unknown, glob: unknown, reads: boolean): ToolUse {
  if (base !== undefined && base !== null && typeof base !== 'string')
    return { does: 'unknown', why: 'its path is no text' }
  if (glob !== undefined && glob !== null && typeof glob !== 'string')
    return { does: 'unknown', why: 'its pattern is no text' }
  return { does: 'search', base: base || undefined, glob: glob || undefined, reads }
}
