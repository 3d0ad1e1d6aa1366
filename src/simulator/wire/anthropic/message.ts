import type { Turn } from '../../scenario/schema.ts'
import { newId, tokensIn } from '../ids.ts'

export type ContentBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }

export interface Message {
  id: string
  type: 'message'
  role: 'assistant'
  model: string
  content: ContentBlock[]
  stop_reason: string
  stop_sequence: null
  usage: Record<string, number>
}

/** The whole answer that a turn gives; ids are new every time, because tools that count usage take a repeated id for a repeated line. */
export function messageFor(turn: Turn, model: string, requestBytes: number): Message {
  const content = blocksOf(turn)
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: turn.stop_reason ?? (turn.tools ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: {
      input_tokens: tokensIn(requestBytes),
      output_tokens: tokensIn(JSON.stringify(content).length),
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      ...definedOnly(turn.usage ?? {}),
    },
  }
}

function blocksOf(turn: Turn): ContentBlock[] {
  const blocks: ContentBlock[] = []
  if (turn.thinking) blocks.push({ type: 'thinking', thinking: turn.thinking, signature: 'c2ltdWxhdGVk' })
  if (turn.text) blocks.push({ type: 'text', text: turn.text })
  for (const { name, input } of turn.tools ?? []) blocks.push({ type: 'tool_use', id: newId('toolu'), name, input })
  return blocks
}

function definedOnly(counts: Record<string, number | undefined>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
}
