import { shellWord } from '../../../base/shell-word.ts'
import type { Change, CommandAsk, Item } from '../wire/schemas.ts'
import { scriptOf } from './shell-line.ts'

/** A call in our own words: a tool that the policy knows, and its input. */
export interface Named {
  tool: string
  input: Record<string, unknown>
}

/** A command. One that would run outside of the sandbox, or that asks for more than to run, is named so that it is judged as such. */
export function namedCommand(ask: CommandAsk, { isUnfenced }: { isUnfenced: boolean }): Named {
  const { kind, command, reason, networkApprovalContext, additionalPermissions } = ask
  const isMore = Boolean(networkApprovalContext) || Boolean(additionalPermissions)
  if (kind !== 'command' || !command || isMore)
    return {
      tool: `unknown:execute:${isMore ? 'permissions' : kind}`,
      input: {
        ...(command && { command }),
        ...(reason && { reason }),
        ...(networkApprovalContext ? { networkApprovalContext } : {}),
      },
    }
  return {
    tool: 'Bash',
    input: {
      command: scriptOf(command),
      ...(reason && { description: reason }),
      ...(isUnfenced && { dangerouslyDisableSandbox: true }),
    },
  }
}

/** A patch: one call for each thing that it does to a file, and each must be allowed. */
export function namedChanges(changes: Change[]): Named[] {
  return changes.flatMap((change): Named[] => {
    const { path: file_path, kind, diff } = change
    if (kind.type === 'add') return [{ tool: 'Write', input: { file_path, content: diff } }]
    if (kind.type === 'delete') return [{ tool: 'Bash', input: { command: `rm -- ${shellWord(file_path)}` } }]
    if (kind.type !== 'update') return [{ tool: `unknown:execute:${kind.type}`, input: { file_path, diff } }]
    const [old_string, new_string] = sides(diff)
    const edit = { tool: 'Edit', input: { file_path, old_string, new_string } }
    const to = kind.move_path
    if (!to) return [edit]
    const command = `mv -- ${shellWord(file_path)} ${shellWord(to)}`
    return [
      edit,
      { tool: 'Write', input: { file_path: to, content: new_string } },
      { tool: 'Bash', input: { command } },
    ]
  })
}

/** Any other thing that Codex did, for whoever hears of it. */
export function namedItem(item: Item): Named {
  const { type, server, tool, command, changes } = item
  if (type === 'commandExecution' && command) return { tool: 'Bash', input: { command: scriptOf(command) } }
  const [first] = namedChanges(changes ?? [])
  if (type === 'fileChange' && first) return first
  const input = isObject(item.arguments) ? item.arguments : {}
  if (type === 'mcpToolCall' && server && tool) return { tool: `mcp__${server}__${tool}`, input }
  return { tool: `unknown:execute:${tool ?? type}`, input }
}

/** What stood there and what will, of a unified diff. */
function sides(diff: string): [string, string] {
  const lines = diff.split('\n').filter(line => /^[ +-]/.test(line))
  const side = (sign: '-' | '+') =>
    lines
      .filter(line => line.startsWith(' ') || line.startsWith(sign))
      .map(line => line.slice(1))
      .join('\n')
  return [side('-'), side('+')]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
