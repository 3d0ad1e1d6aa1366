import { resolve } from 'node:path'
import { nameChanges } from '../codex/calls.ts'
import type { CodexChange } from '../codex/wire.ts'
import type { NamedCall } from './read-event.ts'

/**
 * The changes of a patch in Codex's own format, one call for each, as the driver of Codex names them. Undefined if a line is not
 * understood. Codex trims a line before it looks for a header, so every line that is one after trimming counts as one. Paths are relative
 * to `folder`, if the model chose another one than the session's.
 */
export function readPatch(text: string, folder?: string): NamedCall[] | undefined {
  const lines = text.trim().split('\n')
  if (lines.shift()?.trim() !== '*** Begin Patch' || lines.pop()?.trim() !== '*** End Patch') return undefined
  const changes: CodexChange[] = []
  for (const line of lines) if (!addLine(changes, line, folder)) return undefined
  return changes.length > 0 ? nameChanges(changes) : undefined
}

/** Codex trims other characters than we do (U+0085), so a path that begins or ends with one that cannot be seen is not understood. */
const HEADER = /^\*\*\* (Add File|Delete File|Update File|Move to): ((?![\s\p{C}])[^\p{Cc}]*(?<![\s\p{C}]))$/u
const TYPES: Record<string, string> = { 'Add File': 'add', 'Delete File': 'delete', 'Update File': 'update' }

function addLine(changes: CodexChange[], line: string, folder: string | undefined): boolean {
  const change = changes.at(-1)
  const trimmed = line.trim()
  const [, word = '', named = ''] = HEADER.exec(trimmed) ?? []
  const path = folder === undefined ? named : resolve(folder, named)
  const type = TYPES[word]
  if (type !== undefined) {
    changes.push({ path, kind: { type }, diff: '' })
    return true
  }
  if (!change) return false
  if (word === 'Move to') {
    if (change.kind.type !== 'update' || change.kind.move_path) return false
    change.kind.move_path = path
    return true
  }
  if (trimmed.startsWith('***')) return trimmed === '*** End of File'
  if (change.kind.type === 'delete') return trimmed === ''
  if (change.kind.type === 'add') {
    if (!line.startsWith('+')) return trimmed === ''
    change.diff += `${line.slice(1)}\n`
    return true
  }
  if (!line.startsWith('@@')) change.diff += `${line === '' ? ' ' : line}\n`
  return trimmed === '' || /^(?:[ +-]|@@)/.test(line)
}
