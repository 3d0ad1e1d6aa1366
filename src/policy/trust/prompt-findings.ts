import { parse } from 'yaml'
import { isObject } from '../../base/json.ts'
import { RACING_EVENT, racing, showValue, type TrustFinding, unreadable } from './findings.ts'

/**
 * Fields in the front matter of an agent, command or skill file that only describe it, or restrict it. As with the settings, this
 * lists what is harmless. Names are compared without `-`, `_` and case.
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
  // The tools that a subagent has at all; each call of them is judged.
  'tools',
  'updated',
  'url',
  'userinvocable',
  'version',
  'whentouse',
])

/** How known other fields are called in notes. */
const HEAD_KINDS: Record<string, string> = {
  hooks: 'hooks',
  mcpservers: 'MCP servers',
  allowedtools: 'allow rules',
  permissionmode: 'a permission mode',
}

/** What the front matter of an agent, command or skill file declares, and whether its text runs commands when it is loaded. */
export function findingsInPrompt(text: string): TrustFinding[] {
  const findings: TrustFinding[] = /!`|```!/.test(text)
    ? [{ kind: 'commands in its text', text: 'runs commands when read' }]
    : []
  const lines = text.replace(/\r\n?/g, '\n')
  const heads = new Set(HEADS.flatMap(form => form.exec(lines)?.[1]?.trimEnd() ?? []))
  for (const finding of [...heads].flatMap(findingsInHead)) {
    if (!findings.some(known => known.text === finding.text)) findings.push(finding)
  }
  return findings
}

/**
 * The front matter as Claude Code 2.1.325 reads it (any space after the dashes, closed by the next three dashes, even in the middle
 * of a line), and as everybody else reads it. What either of them would see counts.
 */
const HEADS = [/^\s*---\s*\n([\s\S]*?)---/, /^\s*---[^\n]*\n([\s\S]*?)\n\s*---/]

function findingsInHead(head: string): TrustFinding[] {
  const fields = parseFields(head)
  if (!fields) return [unreadable]
  return Object.entries(fields).flatMap(([name, value]): TrustFinding[] => {
    const plain = name.toLowerCase().replace(/[-_]/g, '')
    if (HARMLESS_HEAD.has(plain)) return []
    const kind = HEAD_KINDS[plain] ?? showValue(name)
    const races = kind === 'hooks' && JSON.stringify(value ?? null).includes(RACING_EVENT)
    return [{ kind, text: `${showValue(name)}: ${showValue(value)}`, ...(races && racing) }]
  })
}

function parseFields(head: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = parse(head, { logLevel: 'error' })
    if (value === null) return {}
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
