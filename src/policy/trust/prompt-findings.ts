import { parse } from 'yaml'
import { type Finding, isObject, RACING_EVENT, racing, shown, unreadable } from './findings.ts'

/**
 * Names in the head of an agent, command or skill file that only describe it, or take something away. Like the settings: a
 * list of what is harmless. Compared without `-`, `_` and capitals.
 */
const HARMLESS_HEAD = new Set([
  'argumenthint',
  'arguments',
  'author',
  'category',
  'color',
  'compatibility',
  'created',
  'date',
  'description',
  'disablemodelinvocation',
  'disallowedtools',
  'effort',
  'id',
  'keywords',
  'license',
  'maxturns',
  'metadata',
  'model',
  'name',
  'namespace',
  'tags',
  'title',
  // Which tools a subagent has at all; each call of theirs is judged.
  'tools',
  'updated',
  'url',
  'userinvocable',
  'version',
  'whentouse',
])

/** What the others are called when they are known. */
const HEAD_KINDS: Record<string, string> = {
  hooks: 'hooks',
  mcpservers: 'MCP servers',
  allowedtools: 'allow rules',
  permissionmode: 'a permission mode',
}

/** What the head of an agent, command or skill file declares, and whether its text runs commands when it is read. */
export function findingsInPrompt(text: string): Finding[] {
  const found: Finding[] = /!`|```!/.test(text)
    ? [{ kind: 'commands in its text', text: 'runs commands when read' }]
    : []
  const lines = text.replace(/\r\n?/g, '\n')
  const heads = new Set(HEADS.flatMap(form => form.exec(lines)?.[1]?.trimEnd() ?? []))
  for (const finding of [...heads].flatMap(findingsInHead)) {
    if (!found.some(each => each.text === finding.text)) found.push(finding)
  }
  return found
}

/**
 * Where a head may be: as Claude Code 2.1.325 reads it (any space after the dashes, closed by the first three dashes there
 * are, in the middle of a line too), and as everybody else does. What either of them would see is looked at.
 */
const HEADS = [/^\s*---\s*\n([\s\S]*?)---/, /^\s*---[^\n]*\n([\s\S]*?)\n\s*---/]

function findingsInHead(head: string): Finding[] {
  const fields = fieldsOf(head)
  if (!fields) return [unreadable]
  return Object.entries(fields).flatMap(([name, value]): Finding[] => {
    const plain = name.toLowerCase().replace(/[-_]/g, '')
    if (HARMLESS_HEAD.has(plain)) return []
    const kind = HEAD_KINDS[plain] ?? shown(name)
    const races = kind === 'hooks' && JSON.stringify(value ?? null).includes(RACING_EVENT)
    return [{ kind, text: `${shown(name)}: ${shown(value)}`, ...(races && racing) }]
  })
}

function fieldsOf(head: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = parse(head, { logLevel: 'error' })
    if (value === null) return {}
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
