import type { ContentBlock, Message } from './message.ts'

export interface StreamEvent {
  type: string
  [key: string]: unknown
}

/** Short enough that a sentence arrives in pieces; a long text comes in larger ones, so that a big file is not 20,000 events. */
const PIECE = 48
const MAX_PIECES = 200

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
  if (block.type === 'text') for (const text of pieces(block.text)) yield { type: 'text_delta', text }
  if (block.type === 'tool_use') {
    for (const part of pieces(JSON.stringify(block.input))) yield { type: 'input_json_delta', partial_json: part }
  }
  if (block.type === 'thinking') {
    for (const thinking of pieces(block.thinking)) yield { type: 'thinking_delta', thinking }
    yield { type: 'signature_delta', signature: block.signature }
  }
}

/** Cuts between characters, never inside one. */
function* pieces(text: string): Generator<string> {
  const size = Math.max(PIECE, Math.ceil(text.length / MAX_PIECES))
  let piece = ''
  for (const character of text) {
    piece += character
    if (piece.length < size) continue
    yield piece
    piece = ''
  }
  if (piece) yield piece
}
