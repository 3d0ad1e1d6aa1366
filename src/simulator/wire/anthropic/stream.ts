import { textPieces } from '../text-pieces.ts'
import type { ContentBlock, Message } from './message.ts'

export interface StreamEvent {
  type: string
  [key: string]: unknown
}

/** The events in which an answer arrives, in order. */
export function* streamEvents(message: Message): Generator<StreamEvent> {
  const { output_tokens, ...input } = message.usage
  const opening = { ...message, content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } }
  yield { type: 'message_start', message: opening }
  for (const [index, block] of message.content.entries()) {
    yield { type: 'content_block_start', index, content_block: emptied(block) }
    for (const delta of deltasOf(block)) yield { type: 'content_block_delta', index, delta }
    yield { type: 'content_block_stop', index }
  }
  const { stop_reason, stop_sequence, usage } = message
  yield { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }
  yield { type: 'message_stop' }
}

/** One event as it goes over the wire. */
export function encodeEvent(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function emptied(block: ContentBlock): ContentBlock {
  if (block.type === 'text') return { ...block, text: '' }
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' }
  return { ...block, input: {} }
}

function* deltasOf(block: ContentBlock): Generator<{ type: string; [key: string]: string }> {
  if (block.type === 'text') for (const text of textPieces(block.text)) yield { type: 'text_delta', text }
  if (block.type === 'tool_use') {
    for (const part of textPieces(JSON.stringify(block.input))) yield { type: 'input_json_delta', partial_json: part }
  }
  if (block.type === 'thinking') {
    for (const thinking of textPieces(block.thinking)) yield { type: 'thinking_delta', thinking }
    yield { type: 'signature_delta', signature: block.signature }
  }
}
