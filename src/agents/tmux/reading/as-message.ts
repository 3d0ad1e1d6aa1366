/**
 * A line of Claude Code's record as the message that its library would have sent: the same parts under nearly the same names.
 * Undefined for what is no message of the conversation itself (notes, snapshots, what subagents say).
 */
export function asMessage(line: unknown): Record<string, unknown> | undefined {
  if (!isObject(line) || line['isSidechain'] === true || line['isMeta'] === true) return undefined
  if (line['type'] === 'assistant') return line
  if (line['type'] !== 'user') return undefined
  return { ...line, tool_use_result: line['toolUseResult'] }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
