import type { OpenSession } from '../../domain/session.ts'
import type { CommandAsk } from './wire/schemas.ts'

/** What changes something, or can. */
const WRITERS = ['Bash', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit']
const READING_ACTIONS = new Set(['read', 'listFiles', 'search'])

/** A session that was given tools, and none that changes anything: Codex's sandbox lets it write nothing. */
export function mayOnlyRead({ tools }: Pick<OpenSession, 'tools'>): boolean {
  return tools !== undefined && !tools.some(tool => WRITERS.includes(tool))
}

/** Whether a command does nothing but read, as Codex itself understands it. Its sandbox stands behind that. */
export function isReading({ commandActions }: CommandAsk): boolean {
  const actions = commandActions ?? []
  return actions.length > 0 && actions.every(({ type }) => READING_ACTIONS.has(type))
}

/**
 * Why a session may not use a tool; undefined where it may. Codex has no tools to read with, only its shell: a session that may read has the
 * shell for commands that only read.
 */
export function whyNot(
  tool: string,
  of: { tools: string[] | undefined; disallowedTools: string[]; readsOnly: boolean },
): string | undefined {
  const { tools, disallowedTools, readsOnly } = of
  const isGiven =
    tools === undefined || tools.includes(tool) || (tool === 'Bash' && readsOnly && tools.includes('Read'))
  if (isGiven && !disallowedTools.includes(tool)) return undefined
  if (tool === 'Bash' && tools?.includes('Read'))
    return 'Not allowed: this session may only read. Use plain commands that read (cat, ls, grep), one at a time.'
  return `Not allowed: this session has no ${tool}. Go on without it.`
}
