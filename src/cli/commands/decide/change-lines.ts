import type { EscalationView } from '../../../domain/escalation.ts'
import { neutral, wrap } from '../../render/text.ts'

const MOST = 24

/** What a tool that writes would take away and put in, line by line; nothing for other tools. */
export function changeLines({ kind, input }: Pick<EscalationView, 'kind' | 'input'>, width: number): string[] {
  if (kind !== 'permission') return []
  const edits = Array.isArray(input['edits']) ? (input['edits'] as unknown[]) : [input]
  const lines = edits.flatMap(edit => editLines(edit)).flatMap(line => wrap(neutral(line), width - 2))
  if (lines.length === 0) return []
  const shown = lines.slice(0, MOST).map(line => `  ${line}`)
  return ['Change:', ...shown, ...(lines.length > MOST ? [`  … ${lines.length - MOST} more lines`] : [])]
}

function editLines(edit: unknown): string[] {
  if (typeof edit !== 'object' || edit === null) return []
  const { old_string, new_string, content, new_source } = edit as Record<string, unknown>
  return [...marked('-', old_string), ...marked('+', new_string ?? content ?? new_source)]
}

function marked(mark: string, text: unknown): string[] {
  return typeof text === 'string' && text !== '' ? text.split('\n').map(line => `${mark} ${line}`) : []
}
